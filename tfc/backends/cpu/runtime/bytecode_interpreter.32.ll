; bytecode_interpreter.c as LLVM IR: made by regenerate.py with clang 22.1.8, not by hand.

%struct.buffer = type { i64, i64 }
%union.word = type { i64 }
%struct.total = type { i64, i64 }
%struct.event = type { i64, i64, i64 }
%struct.time = type { i64, i64 }

define i32 @tfc_interpret(ptr noundef readonly captures(none) %program, ptr noundef readonly captures(none) %context, ptr noundef readonly captures(none) %arguments, ptr noundef readonly captures(none) %results, ptr noundef %arena) {
entry:
  %0 = load i64, ptr %program, align 4
  %results2 = getelementptr inbounds nuw i8, ptr %program, i32 8
  %1 = load i64, ptr %results2, align 4
  %add = add nsw i64 %1, %0
  %2 = trunc i64 %add to i32
  %conv = shl i32 %2, 3
  %mul = add i32 %conv, 16
  %3 = alloca i8, i32 %mul, align 16
  %4 = load ptr, ptr %context, align 4
  %cmp24.i = icmp sgt i64 %0, 0
  br i1 %cmp24.i, label %for.body.i, label %for.cond3.preheader.i

for.cond3.preheader.i:
  %bases.addr.0.lcssa.i = phi ptr [ %3, %entry ], [ %incdec.ptr.i, %for.body.i ]
  %cmp527.i = icmp sgt i64 %1, 0
  br i1 %cmp527.i, label %for.body7.i, label %find_bases.exit

for.body.i:
  %n.026.i = phi i64 [ %inc.i, %for.body.i ], [ 0, %entry ]
  %bases.addr.025.i = phi ptr [ %incdec.ptr.i, %for.body.i ], [ %3, %entry ]
  %idxprom.i = trunc i64 %n.026.i to i32
  %arrayidx.i = getelementptr inbounds ptr, ptr %arguments, i32 %idxprom.i
  %5 = load ptr, ptr %arrayidx.i, align 4
  %incdec.ptr.i = getelementptr inbounds nuw i8, ptr %bases.addr.025.i, i32 8
  store ptr %5, ptr %bases.addr.025.i, align 4
  %inc.i = add nuw nsw i64 %n.026.i, 1
  %cmp.i = icmp slt i64 %inc.i, %0
  br i1 %cmp.i, label %for.body.i, label %for.cond3.preheader.i

for.body7.i:
  %n2.029.i = phi i64 [ %inc12.i, %for.body7.i ], [ 0, %for.cond3.preheader.i ]
  %bases.addr.128.i = phi ptr [ %incdec.ptr10.i, %for.body7.i ], [ %bases.addr.0.lcssa.i, %for.cond3.preheader.i ]
  %idxprom8.i = trunc i64 %n2.029.i to i32
  %arrayidx9.i = getelementptr inbounds ptr, ptr %results, i32 %idxprom8.i
  %6 = load ptr, ptr %arrayidx9.i, align 4
  %incdec.ptr10.i = getelementptr inbounds nuw i8, ptr %bases.addr.128.i, i32 8
  store ptr %6, ptr %bases.addr.128.i, align 4
  %inc12.i = add nuw nsw i64 %n2.029.i, 1
  %cmp5.i = icmp slt i64 %inc12.i, %1
  br i1 %cmp5.i, label %for.body7.i, label %find_bases.exit

find_bases.exit:
  %bases.addr.1.lcssa.i = phi ptr [ %bases.addr.0.lcssa.i, %for.cond3.preheader.i ], [ %incdec.ptr10.i, %for.body7.i ]
  store ptr %arena, ptr %bases.addr.1.lcssa.i, align 4
  %arrayidx15.i = getelementptr inbounds nuw i8, ptr %bases.addr.1.lcssa.i, i32 8
  store ptr %4, ptr %arrayidx15.i, align 4
  %most = getelementptr inbounds nuw i8, ptr %program, i32 16
  %7 = load i64, ptr %most, align 4
  %conv4 = trunc i64 %7 to i32
  %mul5 = shl i32 %conv4, 3
  %add6 = add i32 %mul5, 16
  %8 = alloca i8, i32 %add6, align 16
  %functions = getelementptr inbounds nuw i8, ptr %program, i32 36
  %9 = load ptr, ptr %functions, align 4
  %callers8 = getelementptr inbounds nuw i8, ptr %program, i32 24
  %10 = load i64, ptr %callers8, align 4
  %idx.ext = trunc i64 %10 to i32
  %add.ptr = getelementptr inbounds ptr, ptr %9, i32 %idx.ext
  %clock9 = getelementptr inbounds nuw i8, ptr %context, i32 12
  %11 = load ptr, ptr %clock9, align 4
  %cmp.not = icmp eq ptr %11, null
  br i1 %cmp.not, label %for.cond.cleanup, label %record.exit

for.cond.cleanup:
  %code = getelementptr inbounds nuw i8, ptr %program, i32 32
  %12 = load ptr, ptr %code, align 4
  %buffers1.i214 = getelementptr inbounds nuw i8, ptr %8, i32 16
  %scratch19 = getelementptr inbounds nuw i8, ptr %8, i32 8
  %parallel_for = getelementptr inbounds nuw i8, ptr %context, i32 4
  %pool = getelementptr inbounds nuw i8, ptr %context, i32 8
  br label %for.cond13

record.exit:
  %n.0266 = phi i64 [ %inc, %record.exit ], [ 0, %find_bases.exit ]
  %call.i = tail call fastcc i64 @read_clock(ptr noundef nonnull readonly %11)
  tail call fastcc void @note(ptr noundef nonnull %11, i64 noundef 0, i64 noundef %call.i)
  %inc = add nuw nsw i64 %n.0266, 1
  %cmp11 = icmp samesign ult i64 %n.0266, 63
  br i1 %cmp11, label %record.exit, label %for.cond.cleanup

for.cond13:
  %at.0 = phi ptr [ %12, %for.cond.cleanup ], [ %at.0.be, %for.cond13.backedge ]
  %13 = load i64, ptr %at.0, align 4
  switch i64 %13, label %cleanup114 [
    i64 0, label %sw.bb
    i64 1, label %sw.bb39
    i64 2, label %sw.bb65
    i64 3, label %sw.bb76
    i64 4, label %sw.bb89
    i64 5, label %sw.bb107
  ]

sw.bb:
  %caller14 = getelementptr inbounds nuw i8, ptr %at.0, i32 16
  %14 = load i64, ptr %caller14, align 4
  %idxprom = trunc i64 %14 to i32
  %arrayidx = getelementptr inbounds ptr, ptr %9, i32 %idxprom
  %15 = load ptr, ptr %arrayidx, align 4
  %chunks15 = getelementptr inbounds nuw i8, ptr %at.0, i32 32
  %16 = load i64, ptr %chunks15, align 4
  %function = getelementptr inbounds nuw i8, ptr %at.0, i32 24
  %17 = load i64, ptr %function, align 4
  %idxprom16 = trunc i64 %17 to i32
  %arrayidx17 = getelementptr inbounds ptr, ptr %add.ptr, i32 %idxprom16
  %18 = load ptr, ptr %arrayidx17, align 4
  store ptr %18, ptr %8, align 16
  %scratch = getelementptr inbounds nuw i8, ptr %at.0, i32 40
  %19 = load i64, ptr %scratch, align 4
  store i64 %19, ptr %scratch19, align 8
  %buffers = getelementptr inbounds nuw i8, ptr %at.0, i32 56
  %count = getelementptr inbounds nuw i8, ptr %at.0, i32 48
  %20 = load i64, ptr %count, align 4
  %cmp7.i = icmp sgt i64 %20, 0
  br i1 %cmp7.i, label %for.body.i199, label %fill.exit

for.body.i199:
  %n.08.i = phi i64 [ %inc.i202, %for.body.i199 ], [ 0, %sw.bb ]
  %idxprom.i200 = trunc i64 %n.08.i to i32
  %arrayidx.i201 = getelementptr inbounds %struct.buffer, ptr %buffers, i32 %idxprom.i200
  %21 = load i64, ptr %arrayidx.i201, align 4
  %offset.i = getelementptr inbounds nuw i8, ptr %arrayidx.i201, i32 8
  %22 = load i64, ptr %offset.i, align 4
  %idxprom.i.i = trunc i64 %21 to i32
  %arrayidx.i.i = getelementptr inbounds %union.word, ptr %3, i32 %idxprom.i.i
  %23 = load ptr, ptr %arrayidx.i.i, align 8
  %idx.ext.i.i = trunc i64 %22 to i32
  %add.ptr.i.i = getelementptr inbounds i8, ptr %23, i32 %idx.ext.i.i
  %arrayidx3.i = getelementptr inbounds %union.word, ptr %buffers1.i214, i32 %idxprom.i200
  store ptr %add.ptr.i.i, ptr %arrayidx3.i, align 8
  %inc.i202 = add nuw nsw i64 %n.08.i, 1
  %cmp.i203 = icmp slt i64 %inc.i202, %20
  br i1 %cmp.i203, label %for.body.i199, label %fill.exit

fill.exit:
  br i1 %cmp.not, label %now.exit208, label %cond.true.i205

cond.true.i205:
  %call.i206 = call fastcc i64 @read_clock(ptr noundef readonly %11)
  br label %now.exit208

now.exit208:
  %cond.i207 = phi i64 [ %call.i206, %cond.true.i205 ], [ 0, %fill.exit ]
  %cmp21.not = icmp eq i64 %16, 1
  br i1 %cmp21.not, label %for.body31.preheader, label %land.lhs.true

land.lhs.true:
  %24 = load ptr, ptr %parallel_for, align 4
  %cmp23.not = icmp eq ptr %24, null
  br i1 %cmp23.not, label %if.else, label %if.then

if.then:
  %25 = load ptr, ptr %pool, align 4
  call void %24(ptr noundef %15, ptr noundef nonnull %8, i64 noundef %16, ptr noundef %25)
  br label %if.end

if.else:
  %cmp28267 = icmp sgt i64 %16, 0
  br i1 %cmp28267, label %for.body31.preheader, label %if.end

for.body31.preheader:
  br label %for.body31

for.body31:
  %chunk.0268 = phi i64 [ %inc33, %for.body31 ], [ 0, %for.body31.preheader ]
  call void %15(ptr noundef nonnull %8, i64 noundef %chunk.0268)
  %inc33 = add nuw nsw i64 %chunk.0268, 1
  %cmp28 = icmp slt i64 %inc33, %16
  br i1 %cmp28, label %for.body31, label %if.end

if.end:
  br i1 %cmp.not, label %record.exit211, label %if.then.i210

if.then.i210:
  %site = getelementptr inbounds nuw i8, ptr %at.0, i32 8
  %26 = load i64, ptr %site, align 4
  call fastcc void @note(ptr noundef %11, i64 noundef %26, i64 noundef %cond.i207)
  br label %record.exit211

record.exit211:
  %27 = load i64, ptr %count, align 4
  %idxprom37 = trunc i64 %27 to i32
  %arrayidx38 = getelementptr inbounds %struct.buffer, ptr %buffers, i32 %idxprom37
  br label %for.cond13.backedge

sw.bb39:
  %caller41 = getelementptr inbounds nuw i8, ptr %at.0, i32 16
  %28 = load i64, ptr %caller41, align 4
  %idxprom42 = trunc i64 %28 to i32
  %arrayidx43 = getelementptr inbounds ptr, ptr %9, i32 %idxprom42
  %29 = load ptr, ptr %arrayidx43, align 4
  %function44 = getelementptr inbounds nuw i8, ptr %at.0, i32 24
  %30 = load i64, ptr %function44, align 4
  %idxprom45 = trunc i64 %30 to i32
  %arrayidx46 = getelementptr inbounds ptr, ptr %add.ptr, i32 %idxprom45
  %31 = load ptr, ptr %arrayidx46, align 4
  store ptr %31, ptr %8, align 16
  %buffers48 = getelementptr inbounds nuw i8, ptr %at.0, i32 40
  %count50 = getelementptr inbounds nuw i8, ptr %at.0, i32 32
  %32 = load i64, ptr %count50, align 4
  %cmp7.i212 = icmp sgt i64 %32, 0
  br i1 %cmp7.i212, label %for.body.i215, label %fill.exit227

for.body.i215:
  %n.08.i216 = phi i64 [ %inc.i225, %for.body.i215 ], [ 0, %sw.bb39 ]
  %idxprom.i217 = trunc i64 %n.08.i216 to i32
  %arrayidx.i218 = getelementptr inbounds %struct.buffer, ptr %buffers48, i32 %idxprom.i217
  %33 = load i64, ptr %arrayidx.i218, align 4
  %offset.i219 = getelementptr inbounds nuw i8, ptr %arrayidx.i218, i32 8
  %34 = load i64, ptr %offset.i219, align 4
  %idxprom.i.i220 = trunc i64 %33 to i32
  %arrayidx.i.i221 = getelementptr inbounds %union.word, ptr %3, i32 %idxprom.i.i220
  %35 = load ptr, ptr %arrayidx.i.i221, align 8
  %idx.ext.i.i222 = trunc i64 %34 to i32
  %add.ptr.i.i223 = getelementptr inbounds i8, ptr %35, i32 %idx.ext.i.i222
  %arrayidx3.i224 = getelementptr inbounds %union.word, ptr %buffers1.i214, i32 %idxprom.i217
  store ptr %add.ptr.i.i223, ptr %arrayidx3.i224, align 8
  %inc.i225 = add nuw nsw i64 %n.08.i216, 1
  %cmp.i226 = icmp slt i64 %inc.i225, %32
  br i1 %cmp.i226, label %for.body.i215, label %fill.exit227

fill.exit227:
  br i1 %cmp.not, label %now.exit232.thread, label %if.then.i234

now.exit232.thread:
  %call53259 = call i32 %29(ptr noundef nonnull %8, i64 noundef 0)
  br label %record.exit235

if.then.i234:
  %call.i230 = call fastcc i64 @read_clock(ptr noundef readonly %11)
  %call53 = call i32 %29(ptr noundef nonnull %8, i64 noundef 0)
  %site54 = getelementptr inbounds nuw i8, ptr %at.0, i32 8
  %36 = load i64, ptr %site54, align 4
  call fastcc void @note(ptr noundef %11, i64 noundef %36, i64 noundef %call.i230)
  br label %record.exit235

record.exit235:
  %call53261 = phi i32 [ %call53259, %now.exit232.thread ], [ %call53, %if.then.i234 ]
  %cmp55.not = icmp eq i32 %call53261, 0
  br i1 %cmp55.not, label %if.end58, label %cleanup114

if.end58:
  %37 = load i64, ptr %count50, align 4
  %idxprom61 = trunc i64 %37 to i32
  %arrayidx62 = getelementptr inbounds %struct.buffer, ptr %buffers48, i32 %idxprom61
  br label %for.cond13.backedge

for.cond13.backedge:
  %at.0.be = phi ptr [ %add.ptr103, %cond.false102 ], [ %arrayidx62, %if.end58 ], [ %arrayidx38, %record.exit211 ], [ %add.ptr74, %record.exit249 ], [ %add.ptr111, %sw.bb107 ], [ %add.ptr87, %cond.false ], [ %add.ptr86, %cond.true ], [ %add.ptr101, %cond.true97 ]
  br label %for.cond13

sw.bb65:
  br i1 %cmp.not, label %now.exit240, label %cond.true.i237

cond.true.i237:
  %call.i238 = call fastcc i64 @read_clock(ptr noundef readonly %11)
  br label %now.exit240

now.exit240:
  %cond.i239 = phi i64 [ %call.i238, %cond.true.i237 ], [ 0, %sw.bb65 ]
  %target = getelementptr inbounds nuw i8, ptr %at.0, i32 40
  %38 = load i64, ptr %target, align 4
  %offset = getelementptr inbounds nuw i8, ptr %at.0, i32 48
  %39 = load i64, ptr %offset, align 4
  %idxprom.i241 = trunc i64 %38 to i32
  %arrayidx.i242 = getelementptr inbounds %union.word, ptr %3, i32 %idxprom.i241
  %40 = load ptr, ptr %arrayidx.i242, align 8
  %idx.ext.i = trunc i64 %39 to i32
  %add.ptr.i = getelementptr inbounds i8, ptr %40, i32 %idx.ext.i
  %source = getelementptr inbounds nuw i8, ptr %at.0, i32 24
  %41 = load i64, ptr %source, align 4
  %offset70 = getelementptr inbounds nuw i8, ptr %at.0, i32 32
  %42 = load i64, ptr %offset70, align 4
  %idxprom.i243 = trunc i64 %41 to i32
  %arrayidx.i244 = getelementptr inbounds %union.word, ptr %3, i32 %idxprom.i243
  %43 = load ptr, ptr %arrayidx.i244, align 8
  %idx.ext.i245 = trunc i64 %42 to i32
  %add.ptr.i246 = getelementptr inbounds i8, ptr %43, i32 %idx.ext.i245
  %bytes = getelementptr inbounds nuw i8, ptr %at.0, i32 16
  %44 = load i64, ptr %bytes, align 4
  %conv72 = trunc i64 %44 to i32
  call void @llvm.memcpy.p0.p0.i32(ptr align 1 %add.ptr.i, ptr align 1 %add.ptr.i246, i32 %conv72, i1 false)
  br i1 %cmp.not, label %record.exit249, label %if.then.i248

if.then.i248:
  %site73 = getelementptr inbounds nuw i8, ptr %at.0, i32 8
  %45 = load i64, ptr %site73, align 4
  call fastcc void @note(ptr noundef %11, i64 noundef %45, i64 noundef %cond.i239)
  br label %record.exit249

record.exit249:
  %add.ptr74 = getelementptr inbounds nuw i8, ptr %at.0, i32 56
  br label %for.cond13.backedge

sw.bb76:
  %condition77 = getelementptr inbounds nuw i8, ptr %at.0, i32 8
  %46 = load i64, ptr %condition77, align 4
  %offset79 = getelementptr inbounds nuw i8, ptr %at.0, i32 16
  %47 = load i64, ptr %offset79, align 4
  %idxprom.i250 = trunc i64 %46 to i32
  %arrayidx.i251 = getelementptr inbounds %union.word, ptr %3, i32 %idxprom.i250
  %48 = load ptr, ptr %arrayidx.i251, align 8
  %idx.ext.i252 = trunc i64 %47 to i32
  %add.ptr.i253 = getelementptr inbounds i8, ptr %48, i32 %idx.ext.i252
  %49 = load i8, ptr %add.ptr.i253, align 1
  %cmp82 = icmp eq i8 %49, 0
  br i1 %cmp82, label %cond.true, label %cond.false

cond.true:
  %50 = load ptr, ptr %code, align 4
  %place = getelementptr inbounds nuw i8, ptr %at.0, i32 24
  %51 = load i64, ptr %place, align 4
  %idx.ext85 = trunc i64 %51 to i32
  %add.ptr86 = getelementptr inbounds i64, ptr %50, i32 %idx.ext85
  br label %for.cond13.backedge

cond.false:
  %add.ptr87 = getelementptr inbounds nuw i8, ptr %at.0, i32 32
  br label %for.cond13.backedge

sw.bb89:
  %selector90 = getelementptr inbounds nuw i8, ptr %at.0, i32 8
  %52 = load i64, ptr %selector90, align 4
  %offset92 = getelementptr inbounds nuw i8, ptr %at.0, i32 16
  %53 = load i64, ptr %offset92, align 4
  %idxprom.i254 = trunc i64 %52 to i32
  %arrayidx.i255 = getelementptr inbounds %union.word, ptr %3, i32 %idxprom.i254
  %54 = load ptr, ptr %arrayidx.i255, align 8
  %idx.ext.i256 = trunc i64 %53 to i32
  %add.ptr.i257 = getelementptr inbounds i8, ptr %54, i32 %idx.ext.i256
  %55 = load i32, ptr %add.ptr.i257, align 4
  %conv94 = sext i32 %55 to i64
  %number = getelementptr inbounds nuw i8, ptr %at.0, i32 24
  %56 = load i64, ptr %number, align 4
  %cmp95.not = icmp eq i64 %56, %conv94
  br i1 %cmp95.not, label %cond.false102, label %cond.true97

cond.true97:
  %57 = load ptr, ptr %code, align 4
  %place99 = getelementptr inbounds nuw i8, ptr %at.0, i32 32
  %58 = load i64, ptr %place99, align 4
  %idx.ext100 = trunc i64 %58 to i32
  %add.ptr101 = getelementptr inbounds i64, ptr %57, i32 %idx.ext100
  br label %for.cond13.backedge

cond.false102:
  %add.ptr103 = getelementptr inbounds nuw i8, ptr %at.0, i32 40
  br label %for.cond13.backedge

sw.bb107:
  %59 = load ptr, ptr %code, align 4
  %place109 = getelementptr inbounds nuw i8, ptr %at.0, i32 8
  %60 = load i64, ptr %place109, align 4
  %idx.ext110 = trunc i64 %60 to i32
  %add.ptr111 = getelementptr inbounds i64, ptr %59, i32 %idx.ext110
  br label %for.cond13.backedge

cleanup114:
  %retval.3.ph = phi i32 [ %call53261, %record.exit235 ], [ 0, %for.cond13 ]
  ret i32 %retval.3.ph
}

define internal fastcc void @note(ptr noundef nonnull captures(none) %clock, i64 noundef %site, i64 noundef %begin) {
entry:
  %call = tail call fastcc i64 @read_clock(ptr noundef %clock)
  %totals = getelementptr inbounds nuw i8, ptr %clock, i32 32
  %0 = load ptr, ptr %totals, align 4
  %idxprom = trunc i64 %site to i32
  %arrayidx = getelementptr inbounds %struct.total, ptr %0, i32 %idxprom
  %1 = load i64, ptr %arrayidx, align 4
  %inc = add nsw i64 %1, 1
  store i64 %inc, ptr %arrayidx, align 4
  %sub = sub i64 %call, %begin
  %2 = load ptr, ptr %totals, align 4
  %arrayidx3 = getelementptr inbounds %struct.total, ptr %2, i32 %idxprom
  %time = getelementptr inbounds nuw i8, ptr %arrayidx3, i32 8
  %3 = load i64, ptr %time, align 4
  %add = add nsw i64 %sub, %3
  store i64 %add, ptr %time, align 4
  %cmp.not = icmp eq i64 %site, 0
  br i1 %cmp.not, label %if.end, label %land.lhs.true

land.lhs.true:
  %event_count = getelementptr inbounds nuw i8, ptr %clock, i32 20
  %4 = load i64, ptr %event_count, align 4
  %most_events = getelementptr inbounds nuw i8, ptr %clock, i32 12
  %5 = load i64, ptr %most_events, align 4
  %cmp4 = icmp slt i64 %4, %5
  br i1 %cmp4, label %if.then, label %if.end

if.then:
  %events = getelementptr inbounds nuw i8, ptr %clock, i32 28
  %6 = load ptr, ptr %events, align 4
  %inc6 = add nsw i64 %4, 1
  store i64 %inc6, ptr %event_count, align 4
  %idxprom7 = trunc i64 %4 to i32
  %arrayidx8 = getelementptr inbounds %struct.event, ptr %6, i32 %idxprom7
  store i64 %site, ptr %arrayidx8, align 4
  %.compoundliteral.sroa.2.0.arrayidx8.sroa_idx = getelementptr inbounds nuw i8, ptr %arrayidx8, i32 8
  store i64 %begin, ptr %.compoundliteral.sroa.2.0.arrayidx8.sroa_idx, align 4
  %.compoundliteral.sroa.3.0.arrayidx8.sroa_idx = getelementptr inbounds nuw i8, ptr %arrayidx8, i32 16
  store i64 %call, ptr %.compoundliteral.sroa.3.0.arrayidx8.sroa_idx, align 4
  br label %if.end

if.end:
  ret void
}

define internal fastcc i64 @read_clock(ptr noundef nonnull readonly captures(none) %clock) {
entry:
  %time = alloca %struct.time, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %time)
  %0 = load ptr, ptr %clock, align 4
  %number = getelementptr inbounds nuw i8, ptr %clock, i32 4
  %1 = load i64, ptr %number, align 4
  %conv = trunc i64 %1 to i32
  %call = call i32 %0(i32 noundef %conv, ptr noundef nonnull %time)
  %2 = load i64, ptr %time, align 8
  %mul = mul nsw i64 %2, 1000000000
  %nanoseconds = getelementptr inbounds nuw i8, ptr %time, i32 8
  %3 = load i64, ptr %nanoseconds, align 8
  %add = add nsw i64 %mul, %3
  call void @llvm.lifetime.end.p0(ptr nonnull %time)
  ret i64 %add
}

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
  %participant = getelementptr inbounds nuw i8, ptr %context, i32 16
  %13 = getelementptr inbounds nuw i8, ptr %8, i32 8
  %buffers1.i215 = getelementptr inbounds nuw i8, ptr %8, i32 16
  %parallel_for = getelementptr inbounds nuw i8, ptr %context, i32 4
  %pool = getelementptr inbounds nuw i8, ptr %context, i32 8
  br label %for.cond13

record.exit:
  %n.0267 = phi i64 [ %inc, %record.exit ], [ 0, %find_bases.exit ]
  %call.i = tail call fastcc i64 @read_clock(ptr noundef nonnull readonly %11)
  tail call fastcc void @note(ptr noundef nonnull %11, i64 noundef 0, i64 noundef %call.i)
  %inc = add nuw nsw i64 %n.0267, 1
  %cmp11 = icmp samesign ult i64 %n.0267, 63
  br i1 %cmp11, label %record.exit, label %for.cond.cleanup

for.cond13:
  %at.0 = phi ptr [ %12, %for.cond.cleanup ], [ %at.0.be, %for.cond13.backedge ]
  %14 = load i64, ptr %at.0, align 4
  switch i64 %14, label %cleanup113 [
    i64 0, label %sw.bb
    i64 1, label %sw.bb38
    i64 2, label %sw.bb64
    i64 3, label %sw.bb75
    i64 4, label %sw.bb88
    i64 5, label %sw.bb106
  ]

sw.bb:
  %caller14 = getelementptr inbounds nuw i8, ptr %at.0, i32 16
  %15 = load i64, ptr %caller14, align 4
  %idxprom = trunc i64 %15 to i32
  %arrayidx = getelementptr inbounds ptr, ptr %9, i32 %idxprom
  %16 = load ptr, ptr %arrayidx, align 4
  %chunks15 = getelementptr inbounds nuw i8, ptr %at.0, i32 32
  %17 = load i64, ptr %chunks15, align 4
  %function = getelementptr inbounds nuw i8, ptr %at.0, i32 24
  %18 = load i64, ptr %function, align 4
  %idxprom16 = trunc i64 %18 to i32
  %arrayidx17 = getelementptr inbounds ptr, ptr %add.ptr, i32 %idxprom16
  %19 = load ptr, ptr %arrayidx17, align 4
  store ptr %19, ptr %8, align 16
  %scratch = getelementptr inbounds nuw i8, ptr %at.0, i32 40
  %20 = load i64, ptr %scratch, align 4
  store i64 %20, ptr %13, align 8
  %buffers = getelementptr inbounds nuw i8, ptr %at.0, i32 56
  %count = getelementptr inbounds nuw i8, ptr %at.0, i32 48
  %21 = load i64, ptr %count, align 4
  %cmp7.i = icmp sgt i64 %21, 0
  br i1 %cmp7.i, label %for.body.i200, label %fill.exit

for.body.i200:
  %n.08.i = phi i64 [ %inc.i203, %for.body.i200 ], [ 0, %sw.bb ]
  %idxprom.i201 = trunc i64 %n.08.i to i32
  %arrayidx.i202 = getelementptr inbounds %struct.buffer, ptr %buffers, i32 %idxprom.i201
  %22 = load i64, ptr %arrayidx.i202, align 4
  %offset.i = getelementptr inbounds nuw i8, ptr %arrayidx.i202, i32 8
  %23 = load i64, ptr %offset.i, align 4
  %idxprom.i.i = trunc i64 %22 to i32
  %arrayidx.i.i = getelementptr inbounds %union.word, ptr %3, i32 %idxprom.i.i
  %24 = load ptr, ptr %arrayidx.i.i, align 8
  %idx.ext.i.i = trunc i64 %23 to i32
  %add.ptr.i.i = getelementptr inbounds i8, ptr %24, i32 %idx.ext.i.i
  %arrayidx3.i = getelementptr inbounds %union.word, ptr %buffers1.i215, i32 %idxprom.i201
  store ptr %add.ptr.i.i, ptr %arrayidx3.i, align 8
  %inc.i203 = add nuw nsw i64 %n.08.i, 1
  %cmp.i204 = icmp slt i64 %inc.i203, %21
  br i1 %cmp.i204, label %for.body.i200, label %fill.exit

fill.exit:
  br i1 %cmp.not, label %now.exit209, label %cond.true.i206

cond.true.i206:
  %call.i207 = call fastcc i64 @read_clock(ptr noundef readonly %11)
  br label %now.exit209

now.exit209:
  %cond.i208 = phi i64 [ %call.i207, %cond.true.i206 ], [ 0, %fill.exit ]
  %cmp20.not = icmp eq i64 %17, 1
  br i1 %cmp20.not, label %for.body30.preheader, label %land.lhs.true

land.lhs.true:
  %25 = load ptr, ptr %parallel_for, align 4
  %cmp22.not = icmp eq ptr %25, null
  br i1 %cmp22.not, label %if.else, label %if.then

if.then:
  %26 = load ptr, ptr %pool, align 4
  call void %25(ptr noundef %16, ptr noundef nonnull %8, i64 noundef %17, ptr noundef %26)
  br label %if.end

if.else:
  %cmp27268 = icmp sgt i64 %17, 0
  br i1 %cmp27268, label %for.body30.preheader, label %if.end

for.body30.preheader:
  br label %for.body30

for.body30:
  %chunk.0269 = phi i64 [ %inc32, %for.body30 ], [ 0, %for.body30.preheader ]
  call void %16(ptr noundef nonnull %8, i64 noundef %chunk.0269)
  %inc32 = add nuw nsw i64 %chunk.0269, 1
  %cmp27 = icmp slt i64 %inc32, %17
  br i1 %cmp27, label %for.body30, label %if.end

if.end:
  br i1 %cmp.not, label %record.exit212, label %if.then.i211

if.then.i211:
  %site = getelementptr inbounds nuw i8, ptr %at.0, i32 8
  %27 = load i64, ptr %site, align 4
  call fastcc void @note(ptr noundef %11, i64 noundef %27, i64 noundef %cond.i208)
  br label %record.exit212

record.exit212:
  %28 = load i64, ptr %count, align 4
  %idxprom36 = trunc i64 %28 to i32
  %arrayidx37 = getelementptr inbounds %struct.buffer, ptr %buffers, i32 %idxprom36
  br label %for.cond13.backedge

sw.bb38:
  %caller40 = getelementptr inbounds nuw i8, ptr %at.0, i32 16
  %29 = load i64, ptr %caller40, align 4
  %idxprom41 = trunc i64 %29 to i32
  %arrayidx42 = getelementptr inbounds ptr, ptr %9, i32 %idxprom41
  %30 = load ptr, ptr %arrayidx42, align 4
  %function43 = getelementptr inbounds nuw i8, ptr %at.0, i32 24
  %31 = load i64, ptr %function43, align 4
  %idxprom44 = trunc i64 %31 to i32
  %arrayidx45 = getelementptr inbounds ptr, ptr %add.ptr, i32 %idxprom44
  %32 = load ptr, ptr %arrayidx45, align 4
  store ptr %32, ptr %8, align 16
  %33 = load ptr, ptr %participant, align 4
  store ptr %33, ptr %13, align 8
  %buffers47 = getelementptr inbounds nuw i8, ptr %at.0, i32 40
  %count49 = getelementptr inbounds nuw i8, ptr %at.0, i32 32
  %34 = load i64, ptr %count49, align 4
  %cmp7.i213 = icmp sgt i64 %34, 0
  br i1 %cmp7.i213, label %for.body.i216, label %fill.exit228

for.body.i216:
  %n.08.i217 = phi i64 [ %inc.i226, %for.body.i216 ], [ 0, %sw.bb38 ]
  %idxprom.i218 = trunc i64 %n.08.i217 to i32
  %arrayidx.i219 = getelementptr inbounds %struct.buffer, ptr %buffers47, i32 %idxprom.i218
  %35 = load i64, ptr %arrayidx.i219, align 4
  %offset.i220 = getelementptr inbounds nuw i8, ptr %arrayidx.i219, i32 8
  %36 = load i64, ptr %offset.i220, align 4
  %idxprom.i.i221 = trunc i64 %35 to i32
  %arrayidx.i.i222 = getelementptr inbounds %union.word, ptr %3, i32 %idxprom.i.i221
  %37 = load ptr, ptr %arrayidx.i.i222, align 8
  %idx.ext.i.i223 = trunc i64 %36 to i32
  %add.ptr.i.i224 = getelementptr inbounds i8, ptr %37, i32 %idx.ext.i.i223
  %arrayidx3.i225 = getelementptr inbounds %union.word, ptr %buffers1.i215, i32 %idxprom.i218
  store ptr %add.ptr.i.i224, ptr %arrayidx3.i225, align 8
  %inc.i226 = add nuw nsw i64 %n.08.i217, 1
  %cmp.i227 = icmp slt i64 %inc.i226, %34
  br i1 %cmp.i227, label %for.body.i216, label %fill.exit228

fill.exit228:
  br i1 %cmp.not, label %now.exit233.thread, label %if.then.i235

now.exit233.thread:
  %call52260 = call i32 %30(ptr noundef nonnull %8, i64 noundef 0)
  br label %record.exit236

if.then.i235:
  %call.i231 = call fastcc i64 @read_clock(ptr noundef readonly %11)
  %call52 = call i32 %30(ptr noundef nonnull %8, i64 noundef 0)
  %site53 = getelementptr inbounds nuw i8, ptr %at.0, i32 8
  %38 = load i64, ptr %site53, align 4
  call fastcc void @note(ptr noundef %11, i64 noundef %38, i64 noundef %call.i231)
  br label %record.exit236

record.exit236:
  %call52262 = phi i32 [ %call52260, %now.exit233.thread ], [ %call52, %if.then.i235 ]
  %cmp54.not = icmp eq i32 %call52262, 0
  br i1 %cmp54.not, label %if.end57, label %cleanup113

if.end57:
  %39 = load i64, ptr %count49, align 4
  %idxprom60 = trunc i64 %39 to i32
  %arrayidx61 = getelementptr inbounds %struct.buffer, ptr %buffers47, i32 %idxprom60
  br label %for.cond13.backedge

for.cond13.backedge:
  %at.0.be = phi ptr [ %add.ptr102, %cond.false101 ], [ %arrayidx61, %if.end57 ], [ %arrayidx37, %record.exit212 ], [ %add.ptr73, %record.exit250 ], [ %add.ptr110, %sw.bb106 ], [ %add.ptr86, %cond.false ], [ %add.ptr85, %cond.true ], [ %add.ptr100, %cond.true96 ]
  br label %for.cond13

sw.bb64:
  br i1 %cmp.not, label %now.exit241, label %cond.true.i238

cond.true.i238:
  %call.i239 = call fastcc i64 @read_clock(ptr noundef readonly %11)
  br label %now.exit241

now.exit241:
  %cond.i240 = phi i64 [ %call.i239, %cond.true.i238 ], [ 0, %sw.bb64 ]
  %target = getelementptr inbounds nuw i8, ptr %at.0, i32 40
  %40 = load i64, ptr %target, align 4
  %offset = getelementptr inbounds nuw i8, ptr %at.0, i32 48
  %41 = load i64, ptr %offset, align 4
  %idxprom.i242 = trunc i64 %40 to i32
  %arrayidx.i243 = getelementptr inbounds %union.word, ptr %3, i32 %idxprom.i242
  %42 = load ptr, ptr %arrayidx.i243, align 8
  %idx.ext.i = trunc i64 %41 to i32
  %add.ptr.i = getelementptr inbounds i8, ptr %42, i32 %idx.ext.i
  %source = getelementptr inbounds nuw i8, ptr %at.0, i32 24
  %43 = load i64, ptr %source, align 4
  %offset69 = getelementptr inbounds nuw i8, ptr %at.0, i32 32
  %44 = load i64, ptr %offset69, align 4
  %idxprom.i244 = trunc i64 %43 to i32
  %arrayidx.i245 = getelementptr inbounds %union.word, ptr %3, i32 %idxprom.i244
  %45 = load ptr, ptr %arrayidx.i245, align 8
  %idx.ext.i246 = trunc i64 %44 to i32
  %add.ptr.i247 = getelementptr inbounds i8, ptr %45, i32 %idx.ext.i246
  %bytes = getelementptr inbounds nuw i8, ptr %at.0, i32 16
  %46 = load i64, ptr %bytes, align 4
  %conv71 = trunc i64 %46 to i32
  call void @llvm.memcpy.p0.p0.i32(ptr align 1 %add.ptr.i, ptr align 1 %add.ptr.i247, i32 %conv71, i1 false)
  br i1 %cmp.not, label %record.exit250, label %if.then.i249

if.then.i249:
  %site72 = getelementptr inbounds nuw i8, ptr %at.0, i32 8
  %47 = load i64, ptr %site72, align 4
  call fastcc void @note(ptr noundef %11, i64 noundef %47, i64 noundef %cond.i240)
  br label %record.exit250

record.exit250:
  %add.ptr73 = getelementptr inbounds nuw i8, ptr %at.0, i32 56
  br label %for.cond13.backedge

sw.bb75:
  %condition76 = getelementptr inbounds nuw i8, ptr %at.0, i32 8
  %48 = load i64, ptr %condition76, align 4
  %offset78 = getelementptr inbounds nuw i8, ptr %at.0, i32 16
  %49 = load i64, ptr %offset78, align 4
  %idxprom.i251 = trunc i64 %48 to i32
  %arrayidx.i252 = getelementptr inbounds %union.word, ptr %3, i32 %idxprom.i251
  %50 = load ptr, ptr %arrayidx.i252, align 8
  %idx.ext.i253 = trunc i64 %49 to i32
  %add.ptr.i254 = getelementptr inbounds i8, ptr %50, i32 %idx.ext.i253
  %51 = load i8, ptr %add.ptr.i254, align 1
  %cmp81 = icmp eq i8 %51, 0
  br i1 %cmp81, label %cond.true, label %cond.false

cond.true:
  %52 = load ptr, ptr %code, align 4
  %place = getelementptr inbounds nuw i8, ptr %at.0, i32 24
  %53 = load i64, ptr %place, align 4
  %idx.ext84 = trunc i64 %53 to i32
  %add.ptr85 = getelementptr inbounds i64, ptr %52, i32 %idx.ext84
  br label %for.cond13.backedge

cond.false:
  %add.ptr86 = getelementptr inbounds nuw i8, ptr %at.0, i32 32
  br label %for.cond13.backedge

sw.bb88:
  %selector89 = getelementptr inbounds nuw i8, ptr %at.0, i32 8
  %54 = load i64, ptr %selector89, align 4
  %offset91 = getelementptr inbounds nuw i8, ptr %at.0, i32 16
  %55 = load i64, ptr %offset91, align 4
  %idxprom.i255 = trunc i64 %54 to i32
  %arrayidx.i256 = getelementptr inbounds %union.word, ptr %3, i32 %idxprom.i255
  %56 = load ptr, ptr %arrayidx.i256, align 8
  %idx.ext.i257 = trunc i64 %55 to i32
  %add.ptr.i258 = getelementptr inbounds i8, ptr %56, i32 %idx.ext.i257
  %57 = load i32, ptr %add.ptr.i258, align 4
  %conv93 = sext i32 %57 to i64
  %number = getelementptr inbounds nuw i8, ptr %at.0, i32 24
  %58 = load i64, ptr %number, align 4
  %cmp94.not = icmp eq i64 %58, %conv93
  br i1 %cmp94.not, label %cond.false101, label %cond.true96

cond.true96:
  %59 = load ptr, ptr %code, align 4
  %place98 = getelementptr inbounds nuw i8, ptr %at.0, i32 32
  %60 = load i64, ptr %place98, align 4
  %idx.ext99 = trunc i64 %60 to i32
  %add.ptr100 = getelementptr inbounds i64, ptr %59, i32 %idx.ext99
  br label %for.cond13.backedge

cond.false101:
  %add.ptr102 = getelementptr inbounds nuw i8, ptr %at.0, i32 40
  br label %for.cond13.backedge

sw.bb106:
  %61 = load ptr, ptr %code, align 4
  %place108 = getelementptr inbounds nuw i8, ptr %at.0, i32 8
  %62 = load i64, ptr %place108, align 4
  %idx.ext109 = trunc i64 %62 to i32
  %add.ptr110 = getelementptr inbounds i64, ptr %61, i32 %idx.ext109
  br label %for.cond13.backedge

cleanup113:
  %retval.3.ph = phi i32 [ %call52262, %record.exit236 ], [ 0, %for.cond13 ]
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

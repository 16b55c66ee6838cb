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
  %clock9 = getelementptr inbounds nuw i8, ptr %context, i32 8
  %11 = load ptr, ptr %clock9, align 4
  %cmp.not = icmp eq ptr %11, null
  br i1 %cmp.not, label %for.cond.cleanup, label %record.exit

for.cond.cleanup:
  %code = getelementptr inbounds nuw i8, ptr %program, i32 32
  %12 = load ptr, ptr %code, align 4
  %buffers1.i196 = getelementptr inbounds nuw i8, ptr %8, i32 16
  %scratch19 = getelementptr inbounds nuw i8, ptr %8, i32 8
  %parallel_for = getelementptr inbounds nuw i8, ptr %context, i32 4
  br label %for.cond13

record.exit:
  %n.0248 = phi i64 [ %inc, %record.exit ], [ 0, %find_bases.exit ]
  %call.i = tail call fastcc i64 @read_clock(ptr noundef nonnull readonly %11)
  tail call fastcc void @note(ptr noundef nonnull %11, i64 noundef 0, i64 noundef %call.i)
  %inc = add nuw nsw i64 %n.0248, 1
  %cmp11 = icmp samesign ult i64 %n.0248, 63
  br i1 %cmp11, label %record.exit, label %for.cond.cleanup

for.cond13:
  %at.0 = phi ptr [ %12, %for.cond.cleanup ], [ %at.0.be, %for.cond13.backedge ]
  %13 = load i64, ptr %at.0, align 4
  switch i64 %13, label %cleanup102 [
    i64 0, label %sw.bb
    i64 1, label %sw.bb27
    i64 2, label %sw.bb53
    i64 3, label %sw.bb64
    i64 4, label %sw.bb77
    i64 5, label %sw.bb95
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
  br i1 %cmp7.i, label %for.body.i181, label %fill.exit

for.body.i181:
  %n.08.i = phi i64 [ %inc.i184, %for.body.i181 ], [ 0, %sw.bb ]
  %idxprom.i182 = trunc i64 %n.08.i to i32
  %arrayidx.i183 = getelementptr inbounds %struct.buffer, ptr %buffers, i32 %idxprom.i182
  %21 = load i64, ptr %arrayidx.i183, align 4
  %offset.i = getelementptr inbounds nuw i8, ptr %arrayidx.i183, i32 8
  %22 = load i64, ptr %offset.i, align 4
  %idxprom.i.i = trunc i64 %21 to i32
  %arrayidx.i.i = getelementptr inbounds %union.word, ptr %3, i32 %idxprom.i.i
  %23 = load ptr, ptr %arrayidx.i.i, align 8
  %idx.ext.i.i = trunc i64 %22 to i32
  %add.ptr.i.i = getelementptr inbounds i8, ptr %23, i32 %idx.ext.i.i
  %arrayidx3.i = getelementptr inbounds %union.word, ptr %buffers1.i196, i32 %idxprom.i182
  store ptr %add.ptr.i.i, ptr %arrayidx3.i, align 8
  %inc.i184 = add nuw nsw i64 %n.08.i, 1
  %cmp.i185 = icmp slt i64 %inc.i184, %20
  br i1 %cmp.i185, label %for.body.i181, label %fill.exit

fill.exit:
  br i1 %cmp.not, label %now.exit190, label %cond.true.i187

cond.true.i187:
  %call.i188 = call fastcc i64 @read_clock(ptr noundef readonly %11)
  br label %now.exit190

now.exit190:
  %cond.i189 = phi i64 [ %call.i188, %cond.true.i187 ], [ 0, %fill.exit ]
  %cmp21 = icmp eq i64 %16, 1
  br i1 %cmp21, label %if.then, label %if.else

if.then:
  call void %15(ptr noundef nonnull %8, i64 noundef 0)
  br label %if.end

if.else:
  %24 = load ptr, ptr %parallel_for, align 4
  call void %24(ptr noundef %15, ptr noundef nonnull %8, i64 noundef %16)
  br label %if.end

if.end:
  br i1 %cmp.not, label %record.exit193, label %if.then.i192

if.then.i192:
  %site = getelementptr inbounds nuw i8, ptr %at.0, i32 8
  %25 = load i64, ptr %site, align 4
  call fastcc void @note(ptr noundef %11, i64 noundef %25, i64 noundef %cond.i189)
  br label %record.exit193

record.exit193:
  %26 = load i64, ptr %count, align 4
  %idxprom25 = trunc i64 %26 to i32
  %arrayidx26 = getelementptr inbounds %struct.buffer, ptr %buffers, i32 %idxprom25
  br label %for.cond13.backedge

sw.bb27:
  %caller29 = getelementptr inbounds nuw i8, ptr %at.0, i32 16
  %27 = load i64, ptr %caller29, align 4
  %idxprom30 = trunc i64 %27 to i32
  %arrayidx31 = getelementptr inbounds ptr, ptr %9, i32 %idxprom30
  %28 = load ptr, ptr %arrayidx31, align 4
  %function32 = getelementptr inbounds nuw i8, ptr %at.0, i32 24
  %29 = load i64, ptr %function32, align 4
  %idxprom33 = trunc i64 %29 to i32
  %arrayidx34 = getelementptr inbounds ptr, ptr %add.ptr, i32 %idxprom33
  %30 = load ptr, ptr %arrayidx34, align 4
  store ptr %30, ptr %8, align 16
  %buffers36 = getelementptr inbounds nuw i8, ptr %at.0, i32 40
  %count38 = getelementptr inbounds nuw i8, ptr %at.0, i32 32
  %31 = load i64, ptr %count38, align 4
  %cmp7.i194 = icmp sgt i64 %31, 0
  br i1 %cmp7.i194, label %for.body.i197, label %fill.exit209

for.body.i197:
  %n.08.i198 = phi i64 [ %inc.i207, %for.body.i197 ], [ 0, %sw.bb27 ]
  %idxprom.i199 = trunc i64 %n.08.i198 to i32
  %arrayidx.i200 = getelementptr inbounds %struct.buffer, ptr %buffers36, i32 %idxprom.i199
  %32 = load i64, ptr %arrayidx.i200, align 4
  %offset.i201 = getelementptr inbounds nuw i8, ptr %arrayidx.i200, i32 8
  %33 = load i64, ptr %offset.i201, align 4
  %idxprom.i.i202 = trunc i64 %32 to i32
  %arrayidx.i.i203 = getelementptr inbounds %union.word, ptr %3, i32 %idxprom.i.i202
  %34 = load ptr, ptr %arrayidx.i.i203, align 8
  %idx.ext.i.i204 = trunc i64 %33 to i32
  %add.ptr.i.i205 = getelementptr inbounds i8, ptr %34, i32 %idx.ext.i.i204
  %arrayidx3.i206 = getelementptr inbounds %union.word, ptr %buffers1.i196, i32 %idxprom.i199
  store ptr %add.ptr.i.i205, ptr %arrayidx3.i206, align 8
  %inc.i207 = add nuw nsw i64 %n.08.i198, 1
  %cmp.i208 = icmp slt i64 %inc.i207, %31
  br i1 %cmp.i208, label %for.body.i197, label %fill.exit209

fill.exit209:
  br i1 %cmp.not, label %now.exit214.thread, label %if.then.i216

now.exit214.thread:
  %call41241 = call i32 %28(ptr noundef nonnull %8, i64 noundef 0)
  br label %record.exit217

if.then.i216:
  %call.i212 = call fastcc i64 @read_clock(ptr noundef readonly %11)
  %call41 = call i32 %28(ptr noundef nonnull %8, i64 noundef 0)
  %site42 = getelementptr inbounds nuw i8, ptr %at.0, i32 8
  %35 = load i64, ptr %site42, align 4
  call fastcc void @note(ptr noundef %11, i64 noundef %35, i64 noundef %call.i212)
  br label %record.exit217

record.exit217:
  %call41243 = phi i32 [ %call41241, %now.exit214.thread ], [ %call41, %if.then.i216 ]
  %cmp43.not = icmp eq i32 %call41243, 0
  br i1 %cmp43.not, label %if.end46, label %cleanup102

if.end46:
  %36 = load i64, ptr %count38, align 4
  %idxprom49 = trunc i64 %36 to i32
  %arrayidx50 = getelementptr inbounds %struct.buffer, ptr %buffers36, i32 %idxprom49
  br label %for.cond13.backedge

for.cond13.backedge:
  %at.0.be = phi ptr [ %add.ptr91, %cond.false90 ], [ %arrayidx50, %if.end46 ], [ %arrayidx26, %record.exit193 ], [ %add.ptr62, %record.exit231 ], [ %add.ptr99, %sw.bb95 ], [ %add.ptr75, %cond.false ], [ %add.ptr74, %cond.true ], [ %add.ptr89, %cond.true85 ]
  br label %for.cond13

sw.bb53:
  br i1 %cmp.not, label %now.exit222, label %cond.true.i219

cond.true.i219:
  %call.i220 = call fastcc i64 @read_clock(ptr noundef readonly %11)
  br label %now.exit222

now.exit222:
  %cond.i221 = phi i64 [ %call.i220, %cond.true.i219 ], [ 0, %sw.bb53 ]
  %target = getelementptr inbounds nuw i8, ptr %at.0, i32 40
  %37 = load i64, ptr %target, align 4
  %offset = getelementptr inbounds nuw i8, ptr %at.0, i32 48
  %38 = load i64, ptr %offset, align 4
  %idxprom.i223 = trunc i64 %37 to i32
  %arrayidx.i224 = getelementptr inbounds %union.word, ptr %3, i32 %idxprom.i223
  %39 = load ptr, ptr %arrayidx.i224, align 8
  %idx.ext.i = trunc i64 %38 to i32
  %add.ptr.i = getelementptr inbounds i8, ptr %39, i32 %idx.ext.i
  %source = getelementptr inbounds nuw i8, ptr %at.0, i32 24
  %40 = load i64, ptr %source, align 4
  %offset58 = getelementptr inbounds nuw i8, ptr %at.0, i32 32
  %41 = load i64, ptr %offset58, align 4
  %idxprom.i225 = trunc i64 %40 to i32
  %arrayidx.i226 = getelementptr inbounds %union.word, ptr %3, i32 %idxprom.i225
  %42 = load ptr, ptr %arrayidx.i226, align 8
  %idx.ext.i227 = trunc i64 %41 to i32
  %add.ptr.i228 = getelementptr inbounds i8, ptr %42, i32 %idx.ext.i227
  %bytes = getelementptr inbounds nuw i8, ptr %at.0, i32 16
  %43 = load i64, ptr %bytes, align 4
  %conv60 = trunc i64 %43 to i32
  call void @llvm.memcpy.p0.p0.i32(ptr align 1 %add.ptr.i, ptr align 1 %add.ptr.i228, i32 %conv60, i1 false)
  br i1 %cmp.not, label %record.exit231, label %if.then.i230

if.then.i230:
  %site61 = getelementptr inbounds nuw i8, ptr %at.0, i32 8
  %44 = load i64, ptr %site61, align 4
  call fastcc void @note(ptr noundef %11, i64 noundef %44, i64 noundef %cond.i221)
  br label %record.exit231

record.exit231:
  %add.ptr62 = getelementptr inbounds nuw i8, ptr %at.0, i32 56
  br label %for.cond13.backedge

sw.bb64:
  %condition65 = getelementptr inbounds nuw i8, ptr %at.0, i32 8
  %45 = load i64, ptr %condition65, align 4
  %offset67 = getelementptr inbounds nuw i8, ptr %at.0, i32 16
  %46 = load i64, ptr %offset67, align 4
  %idxprom.i232 = trunc i64 %45 to i32
  %arrayidx.i233 = getelementptr inbounds %union.word, ptr %3, i32 %idxprom.i232
  %47 = load ptr, ptr %arrayidx.i233, align 8
  %idx.ext.i234 = trunc i64 %46 to i32
  %add.ptr.i235 = getelementptr inbounds i8, ptr %47, i32 %idx.ext.i234
  %48 = load i8, ptr %add.ptr.i235, align 1
  %cmp70 = icmp eq i8 %48, 0
  br i1 %cmp70, label %cond.true, label %cond.false

cond.true:
  %49 = load ptr, ptr %code, align 4
  %place = getelementptr inbounds nuw i8, ptr %at.0, i32 24
  %50 = load i64, ptr %place, align 4
  %idx.ext73 = trunc i64 %50 to i32
  %add.ptr74 = getelementptr inbounds i64, ptr %49, i32 %idx.ext73
  br label %for.cond13.backedge

cond.false:
  %add.ptr75 = getelementptr inbounds nuw i8, ptr %at.0, i32 32
  br label %for.cond13.backedge

sw.bb77:
  %selector78 = getelementptr inbounds nuw i8, ptr %at.0, i32 8
  %51 = load i64, ptr %selector78, align 4
  %offset80 = getelementptr inbounds nuw i8, ptr %at.0, i32 16
  %52 = load i64, ptr %offset80, align 4
  %idxprom.i236 = trunc i64 %51 to i32
  %arrayidx.i237 = getelementptr inbounds %union.word, ptr %3, i32 %idxprom.i236
  %53 = load ptr, ptr %arrayidx.i237, align 8
  %idx.ext.i238 = trunc i64 %52 to i32
  %add.ptr.i239 = getelementptr inbounds i8, ptr %53, i32 %idx.ext.i238
  %54 = load i32, ptr %add.ptr.i239, align 4
  %conv82 = sext i32 %54 to i64
  %number = getelementptr inbounds nuw i8, ptr %at.0, i32 24
  %55 = load i64, ptr %number, align 4
  %cmp83.not = icmp eq i64 %55, %conv82
  br i1 %cmp83.not, label %cond.false90, label %cond.true85

cond.true85:
  %56 = load ptr, ptr %code, align 4
  %place87 = getelementptr inbounds nuw i8, ptr %at.0, i32 32
  %57 = load i64, ptr %place87, align 4
  %idx.ext88 = trunc i64 %57 to i32
  %add.ptr89 = getelementptr inbounds i64, ptr %56, i32 %idx.ext88
  br label %for.cond13.backedge

cond.false90:
  %add.ptr91 = getelementptr inbounds nuw i8, ptr %at.0, i32 40
  br label %for.cond13.backedge

sw.bb95:
  %58 = load ptr, ptr %code, align 4
  %place97 = getelementptr inbounds nuw i8, ptr %at.0, i32 8
  %59 = load i64, ptr %place97, align 4
  %idx.ext98 = trunc i64 %59 to i32
  %add.ptr99 = getelementptr inbounds i64, ptr %58, i32 %idx.ext98
  br label %for.cond13.backedge

cleanup102:
  %retval.3.ph = phi i32 [ %call41243, %record.exit217 ], [ 0, %for.cond13 ]
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

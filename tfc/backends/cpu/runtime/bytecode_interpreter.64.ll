; bytecode_interpreter.c as LLVM IR: made by regenerate.py with clang 22.1.8, not by hand.

%struct.buffer = type { i64, i64 }
%union.word = type { i64 }
%struct.total = type { i64, i64 }
%struct.event = type { i64, i64, i64 }
%struct.time = type { i64, i64 }

define i32 @tfc_interpret(ptr noundef readonly captures(none) %program, ptr noundef readonly captures(none) %context, ptr noundef readonly captures(none) %arguments, ptr noundef readonly captures(none) %results, ptr noundef %arena) {
entry:
  %0 = load i64, ptr %program, align 8
  %results2 = getelementptr inbounds nuw i8, ptr %program, i64 8
  %1 = load i64, ptr %results2, align 8
  %add = add nsw i64 %1, %0
  %add3 = shl i64 %add, 3
  %mul = add i64 %add3, 16
  %2 = alloca i8, i64 %mul, align 16
  %3 = load ptr, ptr %context, align 8
  %cmp23.i = icmp sgt i64 %0, 0
  br i1 %cmp23.i, label %for.body.i, label %for.cond3.preheader.i

for.cond3.preheader.i:
  %bases.addr.0.lcssa.i = phi ptr [ %2, %entry ], [ %incdec.ptr.i, %for.body.i ]
  %cmp526.i = icmp sgt i64 %1, 0
  br i1 %cmp526.i, label %for.body7.i, label %find_bases.exit

for.body.i:
  %n.025.i = phi i64 [ %inc.i, %for.body.i ], [ 0, %entry ]
  %bases.addr.024.i = phi ptr [ %incdec.ptr.i, %for.body.i ], [ %2, %entry ]
  %arrayidx.i = getelementptr inbounds nuw ptr, ptr %arguments, i64 %n.025.i
  %4 = load ptr, ptr %arrayidx.i, align 8
  %incdec.ptr.i = getelementptr inbounds nuw i8, ptr %bases.addr.024.i, i64 8
  store ptr %4, ptr %bases.addr.024.i, align 8
  %inc.i = add nuw nsw i64 %n.025.i, 1
  %exitcond.not = icmp eq i64 %inc.i, %0
  br i1 %exitcond.not, label %for.cond3.preheader.i, label %for.body.i

for.body7.i:
  %n2.028.i = phi i64 [ %inc11.i, %for.body7.i ], [ 0, %for.cond3.preheader.i ]
  %bases.addr.127.i = phi ptr [ %incdec.ptr9.i, %for.body7.i ], [ %bases.addr.0.lcssa.i, %for.cond3.preheader.i ]
  %arrayidx8.i = getelementptr inbounds nuw ptr, ptr %results, i64 %n2.028.i
  %5 = load ptr, ptr %arrayidx8.i, align 8
  %incdec.ptr9.i = getelementptr inbounds nuw i8, ptr %bases.addr.127.i, i64 8
  store ptr %5, ptr %bases.addr.127.i, align 8
  %inc11.i = add nuw nsw i64 %n2.028.i, 1
  %exitcond236.not = icmp eq i64 %inc11.i, %1
  br i1 %exitcond236.not, label %find_bases.exit, label %for.body7.i

find_bases.exit:
  %bases.addr.1.lcssa.i = phi ptr [ %bases.addr.0.lcssa.i, %for.cond3.preheader.i ], [ %incdec.ptr9.i, %for.body7.i ]
  store ptr %arena, ptr %bases.addr.1.lcssa.i, align 8
  %arrayidx14.i = getelementptr inbounds nuw i8, ptr %bases.addr.1.lcssa.i, i64 8
  store ptr %3, ptr %arrayidx14.i, align 8
  %most = getelementptr inbounds nuw i8, ptr %program, i64 16
  %6 = load i64, ptr %most, align 8
  %mul4 = shl i64 %6, 3
  %add5 = add i64 %mul4, 16
  %7 = alloca i8, i64 %add5, align 16
  %functions = getelementptr inbounds nuw i8, ptr %program, i64 40
  %8 = load ptr, ptr %functions, align 8
  %callers7 = getelementptr inbounds nuw i8, ptr %program, i64 24
  %9 = load i64, ptr %callers7, align 8
  %add.ptr = getelementptr inbounds ptr, ptr %8, i64 %9
  %clock8 = getelementptr inbounds nuw i8, ptr %context, i64 24
  %10 = load ptr, ptr %clock8, align 8
  %cmp.not = icmp eq ptr %10, null
  br i1 %cmp.not, label %for.cond.cleanup, label %record.exit

for.cond.cleanup:
  %code = getelementptr inbounds nuw i8, ptr %program, i64 32
  %11 = load ptr, ptr %code, align 8
  %buffers1.i192 = getelementptr inbounds nuw i8, ptr %7, i64 16
  %scratch15 = getelementptr inbounds nuw i8, ptr %7, i64 8
  %parallel_for = getelementptr inbounds nuw i8, ptr %context, i64 8
  %pool = getelementptr inbounds nuw i8, ptr %context, i64 16
  br label %for.cond10

record.exit:
  %n.0233 = phi i64 [ %inc, %record.exit ], [ 0, %find_bases.exit ]
  %call.i = tail call fastcc i64 @read_clock(ptr noundef nonnull readonly %10)
  tail call fastcc void @note(ptr noundef nonnull %10, i64 noundef 0, i64 noundef %call.i)
  %inc = add nuw nsw i64 %n.0233, 1
  %exitcond237.not = icmp eq i64 %inc, 64
  br i1 %exitcond237.not, label %for.cond.cleanup, label %record.exit

for.cond10:
  %at.0 = phi ptr [ %11, %for.cond.cleanup ], [ %at.0.be, %for.cond10.backedge ]
  %12 = load i64, ptr %at.0, align 8
  switch i64 %12, label %cleanup94 [
    i64 0, label %sw.bb
    i64 1, label %sw.bb32
    i64 2, label %sw.bb55
    i64 3, label %sw.bb63
    i64 4, label %sw.bb73
    i64 5, label %sw.bb88
  ]

sw.bb:
  %caller11 = getelementptr inbounds nuw i8, ptr %at.0, i64 16
  %13 = load i64, ptr %caller11, align 8
  %arrayidx = getelementptr inbounds ptr, ptr %8, i64 %13
  %14 = load ptr, ptr %arrayidx, align 8
  %chunks12 = getelementptr inbounds nuw i8, ptr %at.0, i64 32
  %15 = load i64, ptr %chunks12, align 8
  %function = getelementptr inbounds nuw i8, ptr %at.0, i64 24
  %16 = load i64, ptr %function, align 8
  %arrayidx13 = getelementptr inbounds ptr, ptr %add.ptr, i64 %16
  %17 = load ptr, ptr %arrayidx13, align 8
  store ptr %17, ptr %7, align 16
  %scratch = getelementptr inbounds nuw i8, ptr %at.0, i64 40
  %18 = load i64, ptr %scratch, align 8
  store i64 %18, ptr %scratch15, align 8
  %buffers = getelementptr inbounds nuw i8, ptr %at.0, i64 56
  %count = getelementptr inbounds nuw i8, ptr %at.0, i64 48
  %19 = load i64, ptr %count, align 8
  %cmp6.i = icmp sgt i64 %19, 0
  br i1 %cmp6.i, label %for.body.i179, label %fill.exit

for.body.i179:
  %n.07.i = phi i64 [ %inc.i181, %for.body.i179 ], [ 0, %sw.bb ]
  %arrayidx.i180 = getelementptr inbounds nuw %struct.buffer, ptr %buffers, i64 %n.07.i
  %20 = load i64, ptr %arrayidx.i180, align 8
  %21 = getelementptr inbounds nuw i8, ptr %arrayidx.i180, i64 8
  %22 = load i64, ptr %21, align 8
  %arrayidx.i.i = getelementptr inbounds %union.word, ptr %2, i64 %20
  %23 = load ptr, ptr %arrayidx.i.i, align 8
  %add.ptr.i.i = getelementptr inbounds i8, ptr %23, i64 %22
  %arrayidx2.i = getelementptr inbounds nuw %union.word, ptr %buffers1.i192, i64 %n.07.i
  store ptr %add.ptr.i.i, ptr %arrayidx2.i, align 8
  %inc.i181 = add nuw nsw i64 %n.07.i, 1
  %exitcond.not.i = icmp eq i64 %inc.i181, %19
  br i1 %exitcond.not.i, label %fill.exit, label %for.body.i179

fill.exit:
  br i1 %cmp.not, label %now.exit186, label %cond.true.i183

cond.true.i183:
  %call.i184 = call fastcc i64 @read_clock(ptr noundef readonly %10)
  br label %now.exit186

now.exit186:
  %cond.i185 = phi i64 [ %call.i184, %cond.true.i183 ], [ 0, %fill.exit ]
  %cmp17.not = icmp eq i64 %15, 1
  br i1 %cmp17.not, label %for.body25.preheader, label %land.lhs.true

land.lhs.true:
  %24 = load ptr, ptr %parallel_for, align 8
  %cmp18.not = icmp eq ptr %24, null
  br i1 %cmp18.not, label %if.else, label %if.then

if.then:
  %25 = load ptr, ptr %pool, align 8
  call void %24(ptr noundef %14, ptr noundef nonnull %7, i64 noundef %15, ptr noundef %25)
  br label %if.end

if.else:
  %cmp22234 = icmp sgt i64 %15, 0
  br i1 %cmp22234, label %for.body25.preheader, label %if.end

for.body25.preheader:
  br label %for.body25

for.body25:
  %chunk.0235 = phi i64 [ %inc27, %for.body25 ], [ 0, %for.body25.preheader ]
  call void %14(ptr noundef nonnull %7, i64 noundef %chunk.0235)
  %inc27 = add nuw nsw i64 %chunk.0235, 1
  %exitcond238.not = icmp eq i64 %inc27, %15
  br i1 %exitcond238.not, label %if.end, label %for.body25

if.end:
  br i1 %cmp.not, label %record.exit189, label %if.then.i188

if.then.i188:
  %site = getelementptr inbounds nuw i8, ptr %at.0, i64 8
  %26 = load i64, ptr %site, align 8
  call fastcc void @note(ptr noundef %10, i64 noundef %26, i64 noundef %cond.i185)
  br label %record.exit189

record.exit189:
  %27 = load i64, ptr %count, align 8
  %arrayidx31 = getelementptr inbounds %struct.buffer, ptr %buffers, i64 %27
  br label %for.cond10.backedge

sw.bb32:
  %caller34 = getelementptr inbounds nuw i8, ptr %at.0, i64 16
  %28 = load i64, ptr %caller34, align 8
  %arrayidx35 = getelementptr inbounds ptr, ptr %8, i64 %28
  %29 = load ptr, ptr %arrayidx35, align 8
  %function36 = getelementptr inbounds nuw i8, ptr %at.0, i64 24
  %30 = load i64, ptr %function36, align 8
  %arrayidx37 = getelementptr inbounds ptr, ptr %add.ptr, i64 %30
  %31 = load ptr, ptr %arrayidx37, align 8
  store ptr %31, ptr %7, align 16
  %buffers39 = getelementptr inbounds nuw i8, ptr %at.0, i64 40
  %count41 = getelementptr inbounds nuw i8, ptr %at.0, i64 32
  %32 = load i64, ptr %count41, align 8
  %cmp6.i190 = icmp sgt i64 %32, 0
  br i1 %cmp6.i190, label %for.body.i193, label %fill.exit201

for.body.i193:
  %n.07.i194 = phi i64 [ %inc.i199, %for.body.i193 ], [ 0, %sw.bb32 ]
  %arrayidx.i195 = getelementptr inbounds nuw %struct.buffer, ptr %buffers39, i64 %n.07.i194
  %33 = load i64, ptr %arrayidx.i195, align 8
  %34 = getelementptr inbounds nuw i8, ptr %arrayidx.i195, i64 8
  %35 = load i64, ptr %34, align 8
  %arrayidx.i.i196 = getelementptr inbounds %union.word, ptr %2, i64 %33
  %36 = load ptr, ptr %arrayidx.i.i196, align 8
  %add.ptr.i.i197 = getelementptr inbounds i8, ptr %36, i64 %35
  %arrayidx2.i198 = getelementptr inbounds nuw %union.word, ptr %buffers1.i192, i64 %n.07.i194
  store ptr %add.ptr.i.i197, ptr %arrayidx2.i198, align 8
  %inc.i199 = add nuw nsw i64 %n.07.i194, 1
  %exitcond.not.i200 = icmp eq i64 %inc.i199, %32
  br i1 %exitcond.not.i200, label %fill.exit201, label %for.body.i193

fill.exit201:
  br i1 %cmp.not, label %now.exit206.thread, label %if.then.i208

now.exit206.thread:
  %call44226 = call i32 %29(ptr noundef nonnull %7, i64 noundef 0)
  br label %record.exit209

if.then.i208:
  %call.i204 = call fastcc i64 @read_clock(ptr noundef readonly %10)
  %call44 = call i32 %29(ptr noundef nonnull %7, i64 noundef 0)
  %site45 = getelementptr inbounds nuw i8, ptr %at.0, i64 8
  %37 = load i64, ptr %site45, align 8
  call fastcc void @note(ptr noundef %10, i64 noundef %37, i64 noundef %call.i204)
  br label %record.exit209

record.exit209:
  %call44228 = phi i32 [ %call44226, %now.exit206.thread ], [ %call44, %if.then.i208 ]
  %cmp46.not = icmp eq i32 %call44228, 0
  br i1 %cmp46.not, label %if.end49, label %cleanup94

if.end49:
  %38 = load i64, ptr %count41, align 8
  %arrayidx52 = getelementptr inbounds %struct.buffer, ptr %buffers39, i64 %38
  br label %for.cond10.backedge

for.cond10.backedge:
  %at.0.be = phi ptr [ %add.ptr84, %cond.false83 ], [ %arrayidx52, %if.end49 ], [ %arrayidx31, %record.exit189 ], [ %add.ptr61, %record.exit220 ], [ %add.ptr91, %sw.bb88 ], [ %add.ptr71, %cond.false ], [ %add.ptr70, %cond.true ], [ %add.ptr82, %cond.true79 ]
  br label %for.cond10

sw.bb55:
  br i1 %cmp.not, label %now.exit214, label %cond.true.i211

cond.true.i211:
  %call.i212 = call fastcc i64 @read_clock(ptr noundef readonly %10)
  br label %now.exit214

now.exit214:
  %cond.i213 = phi i64 [ %call.i212, %cond.true.i211 ], [ 0, %sw.bb55 ]
  %target = getelementptr inbounds nuw i8, ptr %at.0, i64 40
  %39 = load i64, ptr %target, align 8
  %40 = getelementptr inbounds nuw i8, ptr %at.0, i64 48
  %41 = load i64, ptr %40, align 8
  %arrayidx.i215 = getelementptr inbounds %union.word, ptr %2, i64 %39
  %42 = load ptr, ptr %arrayidx.i215, align 8
  %add.ptr.i = getelementptr inbounds i8, ptr %42, i64 %41
  %source = getelementptr inbounds nuw i8, ptr %at.0, i64 24
  %43 = load i64, ptr %source, align 8
  %44 = getelementptr inbounds nuw i8, ptr %at.0, i64 32
  %45 = load i64, ptr %44, align 8
  %arrayidx.i216 = getelementptr inbounds %union.word, ptr %2, i64 %43
  %46 = load ptr, ptr %arrayidx.i216, align 8
  %add.ptr.i217 = getelementptr inbounds i8, ptr %46, i64 %45
  %bytes = getelementptr inbounds nuw i8, ptr %at.0, i64 16
  %47 = load i64, ptr %bytes, align 8
  call void @llvm.memcpy.p0.p0.i64(ptr align 1 %add.ptr.i, ptr align 1 %add.ptr.i217, i64 %47, i1 false)
  br i1 %cmp.not, label %record.exit220, label %if.then.i219

if.then.i219:
  %site60 = getelementptr inbounds nuw i8, ptr %at.0, i64 8
  %48 = load i64, ptr %site60, align 8
  call fastcc void @note(ptr noundef %10, i64 noundef %48, i64 noundef %cond.i213)
  br label %record.exit220

record.exit220:
  %add.ptr61 = getelementptr inbounds nuw i8, ptr %at.0, i64 56
  br label %for.cond10.backedge

sw.bb63:
  %condition64 = getelementptr inbounds nuw i8, ptr %at.0, i64 8
  %49 = load i64, ptr %condition64, align 8
  %50 = getelementptr inbounds nuw i8, ptr %at.0, i64 16
  %51 = load i64, ptr %50, align 8
  %arrayidx.i221 = getelementptr inbounds %union.word, ptr %2, i64 %49
  %52 = load ptr, ptr %arrayidx.i221, align 8
  %add.ptr.i222 = getelementptr inbounds i8, ptr %52, i64 %51
  %53 = load i8, ptr %add.ptr.i222, align 1
  %cmp67 = icmp eq i8 %53, 0
  br i1 %cmp67, label %cond.true, label %cond.false

cond.true:
  %54 = load ptr, ptr %code, align 8
  %place = getelementptr inbounds nuw i8, ptr %at.0, i64 24
  %55 = load i64, ptr %place, align 8
  %add.ptr70 = getelementptr inbounds i64, ptr %54, i64 %55
  br label %for.cond10.backedge

cond.false:
  %add.ptr71 = getelementptr inbounds nuw i8, ptr %at.0, i64 32
  br label %for.cond10.backedge

sw.bb73:
  %selector74 = getelementptr inbounds nuw i8, ptr %at.0, i64 8
  %56 = load i64, ptr %selector74, align 8
  %57 = getelementptr inbounds nuw i8, ptr %at.0, i64 16
  %58 = load i64, ptr %57, align 8
  %arrayidx.i223 = getelementptr inbounds %union.word, ptr %2, i64 %56
  %59 = load ptr, ptr %arrayidx.i223, align 8
  %add.ptr.i224 = getelementptr inbounds i8, ptr %59, i64 %58
  %60 = load i32, ptr %add.ptr.i224, align 4
  %conv76 = sext i32 %60 to i64
  %number = getelementptr inbounds nuw i8, ptr %at.0, i64 24
  %61 = load i64, ptr %number, align 8
  %cmp77.not = icmp eq i64 %61, %conv76
  br i1 %cmp77.not, label %cond.false83, label %cond.true79

cond.true79:
  %62 = load ptr, ptr %code, align 8
  %place81 = getelementptr inbounds nuw i8, ptr %at.0, i64 32
  %63 = load i64, ptr %place81, align 8
  %add.ptr82 = getelementptr inbounds i64, ptr %62, i64 %63
  br label %for.cond10.backedge

cond.false83:
  %add.ptr84 = getelementptr inbounds nuw i8, ptr %at.0, i64 40
  br label %for.cond10.backedge

sw.bb88:
  %64 = load ptr, ptr %code, align 8
  %place90 = getelementptr inbounds nuw i8, ptr %at.0, i64 8
  %65 = load i64, ptr %place90, align 8
  %add.ptr91 = getelementptr inbounds i64, ptr %64, i64 %65
  br label %for.cond10.backedge

cleanup94:
  %retval.3.ph = phi i32 [ %call44228, %record.exit209 ], [ 0, %for.cond10 ]
  ret i32 %retval.3.ph
}

define internal fastcc void @note(ptr noundef nonnull captures(none) %clock, i64 noundef %site, i64 noundef %begin) {
entry:
  %call = tail call fastcc i64 @read_clock(ptr noundef %clock)
  %totals = getelementptr inbounds nuw i8, ptr %clock, i64 40
  %0 = load ptr, ptr %totals, align 8
  %arrayidx = getelementptr inbounds %struct.total, ptr %0, i64 %site
  %1 = load i64, ptr %arrayidx, align 8
  %inc = add nsw i64 %1, 1
  store i64 %inc, ptr %arrayidx, align 8
  %sub = sub i64 %call, %begin
  %2 = load ptr, ptr %totals, align 8
  %arrayidx2 = getelementptr inbounds %struct.total, ptr %2, i64 %site
  %time = getelementptr inbounds nuw i8, ptr %arrayidx2, i64 8
  %3 = load i64, ptr %time, align 8
  %add = add nsw i64 %sub, %3
  store i64 %add, ptr %time, align 8
  %cmp.not = icmp eq i64 %site, 0
  br i1 %cmp.not, label %if.end, label %land.lhs.true

land.lhs.true:
  %event_count = getelementptr inbounds nuw i8, ptr %clock, i64 24
  %4 = load i64, ptr %event_count, align 8
  %most_events = getelementptr inbounds nuw i8, ptr %clock, i64 16
  %5 = load i64, ptr %most_events, align 8
  %cmp3 = icmp slt i64 %4, %5
  br i1 %cmp3, label %if.then, label %if.end

if.then:
  %events = getelementptr inbounds nuw i8, ptr %clock, i64 32
  %6 = load ptr, ptr %events, align 8
  %inc5 = add nsw i64 %4, 1
  store i64 %inc5, ptr %event_count, align 8
  %arrayidx6 = getelementptr inbounds %struct.event, ptr %6, i64 %4
  store i64 %site, ptr %arrayidx6, align 8
  %.compoundliteral.sroa.2.0.arrayidx6.sroa_idx = getelementptr inbounds nuw i8, ptr %arrayidx6, i64 8
  store i64 %begin, ptr %.compoundliteral.sroa.2.0.arrayidx6.sroa_idx, align 8
  %.compoundliteral.sroa.3.0.arrayidx6.sroa_idx = getelementptr inbounds nuw i8, ptr %arrayidx6, i64 16
  store i64 %call, ptr %.compoundliteral.sroa.3.0.arrayidx6.sroa_idx, align 8
  br label %if.end

if.end:
  ret void
}

define internal fastcc i64 @read_clock(ptr noundef nonnull readonly captures(none) %clock) {
entry:
  %time = alloca %struct.time, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %time)
  %0 = load ptr, ptr %clock, align 8
  %number = getelementptr inbounds nuw i8, ptr %clock, i64 8
  %1 = load i64, ptr %number, align 8
  %conv = trunc i64 %1 to i32
  %call = call i32 %0(i32 noundef %conv, ptr noundef nonnull %time)
  %2 = load i64, ptr %time, align 8
  %mul = mul nsw i64 %2, 1000000000
  %nanoseconds = getelementptr inbounds nuw i8, ptr %time, i64 8
  %3 = load i64, ptr %nanoseconds, align 8
  %add = add nsw i64 %mul, %3
  call void @llvm.lifetime.end.p0(ptr nonnull %time)
  ret i64 %add
}

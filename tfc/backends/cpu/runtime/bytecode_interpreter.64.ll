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
  %exitcond237.not = icmp eq i64 %inc11.i, %1
  br i1 %exitcond237.not, label %find_bases.exit, label %for.body7.i

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
  %participant = getelementptr inbounds nuw i8, ptr %context, i64 32
  %12 = getelementptr inbounds nuw i8, ptr %7, i64 8
  %buffers1.i193 = getelementptr inbounds nuw i8, ptr %7, i64 16
  %parallel_for = getelementptr inbounds nuw i8, ptr %context, i64 8
  %pool = getelementptr inbounds nuw i8, ptr %context, i64 16
  br label %for.cond10

record.exit:
  %n.0234 = phi i64 [ %inc, %record.exit ], [ 0, %find_bases.exit ]
  %call.i = tail call fastcc i64 @read_clock(ptr noundef nonnull readonly %10)
  tail call fastcc void @note(ptr noundef nonnull %10, i64 noundef 0, i64 noundef %call.i)
  %inc = add nuw nsw i64 %n.0234, 1
  %exitcond238.not = icmp eq i64 %inc, 64
  br i1 %exitcond238.not, label %for.cond.cleanup, label %record.exit

for.cond10:
  %at.0 = phi ptr [ %11, %for.cond.cleanup ], [ %at.0.be, %for.cond10.backedge ]
  %13 = load i64, ptr %at.0, align 8
  switch i64 %13, label %cleanup93 [
    i64 0, label %sw.bb
    i64 1, label %sw.bb31
    i64 2, label %sw.bb54
    i64 3, label %sw.bb62
    i64 4, label %sw.bb72
    i64 5, label %sw.bb87
  ]

sw.bb:
  %caller11 = getelementptr inbounds nuw i8, ptr %at.0, i64 16
  %14 = load i64, ptr %caller11, align 8
  %arrayidx = getelementptr inbounds ptr, ptr %8, i64 %14
  %15 = load ptr, ptr %arrayidx, align 8
  %chunks12 = getelementptr inbounds nuw i8, ptr %at.0, i64 32
  %16 = load i64, ptr %chunks12, align 8
  %function = getelementptr inbounds nuw i8, ptr %at.0, i64 24
  %17 = load i64, ptr %function, align 8
  %arrayidx13 = getelementptr inbounds ptr, ptr %add.ptr, i64 %17
  %18 = load ptr, ptr %arrayidx13, align 8
  store ptr %18, ptr %7, align 16
  %scratch = getelementptr inbounds nuw i8, ptr %at.0, i64 40
  %19 = load i64, ptr %scratch, align 8
  store i64 %19, ptr %12, align 8
  %buffers = getelementptr inbounds nuw i8, ptr %at.0, i64 56
  %count = getelementptr inbounds nuw i8, ptr %at.0, i64 48
  %20 = load i64, ptr %count, align 8
  %cmp6.i = icmp sgt i64 %20, 0
  br i1 %cmp6.i, label %for.body.i180, label %fill.exit

for.body.i180:
  %n.07.i = phi i64 [ %inc.i182, %for.body.i180 ], [ 0, %sw.bb ]
  %arrayidx.i181 = getelementptr inbounds nuw %struct.buffer, ptr %buffers, i64 %n.07.i
  %21 = load i64, ptr %arrayidx.i181, align 8
  %22 = getelementptr inbounds nuw i8, ptr %arrayidx.i181, i64 8
  %23 = load i64, ptr %22, align 8
  %arrayidx.i.i = getelementptr inbounds %union.word, ptr %2, i64 %21
  %24 = load ptr, ptr %arrayidx.i.i, align 8
  %add.ptr.i.i = getelementptr inbounds i8, ptr %24, i64 %23
  %arrayidx2.i = getelementptr inbounds nuw %union.word, ptr %buffers1.i193, i64 %n.07.i
  store ptr %add.ptr.i.i, ptr %arrayidx2.i, align 8
  %inc.i182 = add nuw nsw i64 %n.07.i, 1
  %exitcond.not.i = icmp eq i64 %inc.i182, %20
  br i1 %exitcond.not.i, label %fill.exit, label %for.body.i180

fill.exit:
  br i1 %cmp.not, label %now.exit187, label %cond.true.i184

cond.true.i184:
  %call.i185 = call fastcc i64 @read_clock(ptr noundef readonly %10)
  br label %now.exit187

now.exit187:
  %cond.i186 = phi i64 [ %call.i185, %cond.true.i184 ], [ 0, %fill.exit ]
  %cmp16.not = icmp eq i64 %16, 1
  br i1 %cmp16.not, label %for.body24.preheader, label %land.lhs.true

land.lhs.true:
  %25 = load ptr, ptr %parallel_for, align 8
  %cmp17.not = icmp eq ptr %25, null
  br i1 %cmp17.not, label %if.else, label %if.then

if.then:
  %26 = load ptr, ptr %pool, align 8
  call void %25(ptr noundef %15, ptr noundef nonnull %7, i64 noundef %16, ptr noundef %26)
  br label %if.end

if.else:
  %cmp21235 = icmp sgt i64 %16, 0
  br i1 %cmp21235, label %for.body24.preheader, label %if.end

for.body24.preheader:
  br label %for.body24

for.body24:
  %chunk.0236 = phi i64 [ %inc26, %for.body24 ], [ 0, %for.body24.preheader ]
  call void %15(ptr noundef nonnull %7, i64 noundef %chunk.0236)
  %inc26 = add nuw nsw i64 %chunk.0236, 1
  %exitcond239.not = icmp eq i64 %inc26, %16
  br i1 %exitcond239.not, label %if.end, label %for.body24

if.end:
  br i1 %cmp.not, label %record.exit190, label %if.then.i189

if.then.i189:
  %site = getelementptr inbounds nuw i8, ptr %at.0, i64 8
  %27 = load i64, ptr %site, align 8
  call fastcc void @note(ptr noundef %10, i64 noundef %27, i64 noundef %cond.i186)
  br label %record.exit190

record.exit190:
  %28 = load i64, ptr %count, align 8
  %arrayidx30 = getelementptr inbounds %struct.buffer, ptr %buffers, i64 %28
  br label %for.cond10.backedge

sw.bb31:
  %caller33 = getelementptr inbounds nuw i8, ptr %at.0, i64 16
  %29 = load i64, ptr %caller33, align 8
  %arrayidx34 = getelementptr inbounds ptr, ptr %8, i64 %29
  %30 = load ptr, ptr %arrayidx34, align 8
  %function35 = getelementptr inbounds nuw i8, ptr %at.0, i64 24
  %31 = load i64, ptr %function35, align 8
  %arrayidx36 = getelementptr inbounds ptr, ptr %add.ptr, i64 %31
  %32 = load ptr, ptr %arrayidx36, align 8
  store ptr %32, ptr %7, align 16
  %33 = load ptr, ptr %participant, align 8
  store ptr %33, ptr %12, align 8
  %buffers38 = getelementptr inbounds nuw i8, ptr %at.0, i64 40
  %count40 = getelementptr inbounds nuw i8, ptr %at.0, i64 32
  %34 = load i64, ptr %count40, align 8
  %cmp6.i191 = icmp sgt i64 %34, 0
  br i1 %cmp6.i191, label %for.body.i194, label %fill.exit202

for.body.i194:
  %n.07.i195 = phi i64 [ %inc.i200, %for.body.i194 ], [ 0, %sw.bb31 ]
  %arrayidx.i196 = getelementptr inbounds nuw %struct.buffer, ptr %buffers38, i64 %n.07.i195
  %35 = load i64, ptr %arrayidx.i196, align 8
  %36 = getelementptr inbounds nuw i8, ptr %arrayidx.i196, i64 8
  %37 = load i64, ptr %36, align 8
  %arrayidx.i.i197 = getelementptr inbounds %union.word, ptr %2, i64 %35
  %38 = load ptr, ptr %arrayidx.i.i197, align 8
  %add.ptr.i.i198 = getelementptr inbounds i8, ptr %38, i64 %37
  %arrayidx2.i199 = getelementptr inbounds nuw %union.word, ptr %buffers1.i193, i64 %n.07.i195
  store ptr %add.ptr.i.i198, ptr %arrayidx2.i199, align 8
  %inc.i200 = add nuw nsw i64 %n.07.i195, 1
  %exitcond.not.i201 = icmp eq i64 %inc.i200, %34
  br i1 %exitcond.not.i201, label %fill.exit202, label %for.body.i194

fill.exit202:
  br i1 %cmp.not, label %now.exit207.thread, label %if.then.i209

now.exit207.thread:
  %call43227 = call i32 %30(ptr noundef nonnull %7, i64 noundef 0)
  br label %record.exit210

if.then.i209:
  %call.i205 = call fastcc i64 @read_clock(ptr noundef readonly %10)
  %call43 = call i32 %30(ptr noundef nonnull %7, i64 noundef 0)
  %site44 = getelementptr inbounds nuw i8, ptr %at.0, i64 8
  %39 = load i64, ptr %site44, align 8
  call fastcc void @note(ptr noundef %10, i64 noundef %39, i64 noundef %call.i205)
  br label %record.exit210

record.exit210:
  %call43229 = phi i32 [ %call43227, %now.exit207.thread ], [ %call43, %if.then.i209 ]
  %cmp45.not = icmp eq i32 %call43229, 0
  br i1 %cmp45.not, label %if.end48, label %cleanup93

if.end48:
  %40 = load i64, ptr %count40, align 8
  %arrayidx51 = getelementptr inbounds %struct.buffer, ptr %buffers38, i64 %40
  br label %for.cond10.backedge

for.cond10.backedge:
  %at.0.be = phi ptr [ %add.ptr83, %cond.false82 ], [ %arrayidx51, %if.end48 ], [ %arrayidx30, %record.exit190 ], [ %add.ptr60, %record.exit221 ], [ %add.ptr90, %sw.bb87 ], [ %add.ptr70, %cond.false ], [ %add.ptr69, %cond.true ], [ %add.ptr81, %cond.true78 ]
  br label %for.cond10

sw.bb54:
  br i1 %cmp.not, label %now.exit215, label %cond.true.i212

cond.true.i212:
  %call.i213 = call fastcc i64 @read_clock(ptr noundef readonly %10)
  br label %now.exit215

now.exit215:
  %cond.i214 = phi i64 [ %call.i213, %cond.true.i212 ], [ 0, %sw.bb54 ]
  %target = getelementptr inbounds nuw i8, ptr %at.0, i64 40
  %41 = load i64, ptr %target, align 8
  %42 = getelementptr inbounds nuw i8, ptr %at.0, i64 48
  %43 = load i64, ptr %42, align 8
  %arrayidx.i216 = getelementptr inbounds %union.word, ptr %2, i64 %41
  %44 = load ptr, ptr %arrayidx.i216, align 8
  %add.ptr.i = getelementptr inbounds i8, ptr %44, i64 %43
  %source = getelementptr inbounds nuw i8, ptr %at.0, i64 24
  %45 = load i64, ptr %source, align 8
  %46 = getelementptr inbounds nuw i8, ptr %at.0, i64 32
  %47 = load i64, ptr %46, align 8
  %arrayidx.i217 = getelementptr inbounds %union.word, ptr %2, i64 %45
  %48 = load ptr, ptr %arrayidx.i217, align 8
  %add.ptr.i218 = getelementptr inbounds i8, ptr %48, i64 %47
  %bytes = getelementptr inbounds nuw i8, ptr %at.0, i64 16
  %49 = load i64, ptr %bytes, align 8
  call void @llvm.memcpy.p0.p0.i64(ptr align 1 %add.ptr.i, ptr align 1 %add.ptr.i218, i64 %49, i1 false)
  br i1 %cmp.not, label %record.exit221, label %if.then.i220

if.then.i220:
  %site59 = getelementptr inbounds nuw i8, ptr %at.0, i64 8
  %50 = load i64, ptr %site59, align 8
  call fastcc void @note(ptr noundef %10, i64 noundef %50, i64 noundef %cond.i214)
  br label %record.exit221

record.exit221:
  %add.ptr60 = getelementptr inbounds nuw i8, ptr %at.0, i64 56
  br label %for.cond10.backedge

sw.bb62:
  %condition63 = getelementptr inbounds nuw i8, ptr %at.0, i64 8
  %51 = load i64, ptr %condition63, align 8
  %52 = getelementptr inbounds nuw i8, ptr %at.0, i64 16
  %53 = load i64, ptr %52, align 8
  %arrayidx.i222 = getelementptr inbounds %union.word, ptr %2, i64 %51
  %54 = load ptr, ptr %arrayidx.i222, align 8
  %add.ptr.i223 = getelementptr inbounds i8, ptr %54, i64 %53
  %55 = load i8, ptr %add.ptr.i223, align 1
  %cmp66 = icmp eq i8 %55, 0
  br i1 %cmp66, label %cond.true, label %cond.false

cond.true:
  %56 = load ptr, ptr %code, align 8
  %place = getelementptr inbounds nuw i8, ptr %at.0, i64 24
  %57 = load i64, ptr %place, align 8
  %add.ptr69 = getelementptr inbounds i64, ptr %56, i64 %57
  br label %for.cond10.backedge

cond.false:
  %add.ptr70 = getelementptr inbounds nuw i8, ptr %at.0, i64 32
  br label %for.cond10.backedge

sw.bb72:
  %selector73 = getelementptr inbounds nuw i8, ptr %at.0, i64 8
  %58 = load i64, ptr %selector73, align 8
  %59 = getelementptr inbounds nuw i8, ptr %at.0, i64 16
  %60 = load i64, ptr %59, align 8
  %arrayidx.i224 = getelementptr inbounds %union.word, ptr %2, i64 %58
  %61 = load ptr, ptr %arrayidx.i224, align 8
  %add.ptr.i225 = getelementptr inbounds i8, ptr %61, i64 %60
  %62 = load i32, ptr %add.ptr.i225, align 4
  %conv75 = sext i32 %62 to i64
  %number = getelementptr inbounds nuw i8, ptr %at.0, i64 24
  %63 = load i64, ptr %number, align 8
  %cmp76.not = icmp eq i64 %63, %conv75
  br i1 %cmp76.not, label %cond.false82, label %cond.true78

cond.true78:
  %64 = load ptr, ptr %code, align 8
  %place80 = getelementptr inbounds nuw i8, ptr %at.0, i64 32
  %65 = load i64, ptr %place80, align 8
  %add.ptr81 = getelementptr inbounds i64, ptr %64, i64 %65
  br label %for.cond10.backedge

cond.false82:
  %add.ptr83 = getelementptr inbounds nuw i8, ptr %at.0, i64 40
  br label %for.cond10.backedge

sw.bb87:
  %66 = load ptr, ptr %code, align 8
  %place89 = getelementptr inbounds nuw i8, ptr %at.0, i64 8
  %67 = load i64, ptr %place89, align 8
  %add.ptr90 = getelementptr inbounds i64, ptr %66, i64 %67
  br label %for.cond10.backedge

cleanup93:
  %retval.3.ph = phi i32 [ %call43229, %record.exit210 ], [ 0, %for.cond10 ]
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

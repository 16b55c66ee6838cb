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
  %exitcond215.not = icmp eq i64 %inc11.i, %1
  br i1 %exitcond215.not, label %find_bases.exit, label %for.body7.i

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
  %clock8 = getelementptr inbounds nuw i8, ptr %context, i64 16
  %10 = load ptr, ptr %clock8, align 8
  %cmp.not = icmp eq ptr %10, null
  br i1 %cmp.not, label %for.cond.cleanup, label %record.exit

for.cond.cleanup:
  %code = getelementptr inbounds nuw i8, ptr %program, i64 32
  %11 = load ptr, ptr %code, align 8
  %buffers1.i173 = getelementptr inbounds nuw i8, ptr %7, i64 16
  %scratch15 = getelementptr inbounds nuw i8, ptr %7, i64 8
  %parallel_for = getelementptr inbounds nuw i8, ptr %context, i64 8
  br label %for.cond10

record.exit:
  %n.0214 = phi i64 [ %inc, %record.exit ], [ 0, %find_bases.exit ]
  %call.i = tail call fastcc i64 @read_clock(ptr noundef nonnull readonly %10)
  tail call fastcc void @note(ptr noundef nonnull %10, i64 noundef 0, i64 noundef %call.i)
  %inc = add nuw nsw i64 %n.0214, 1
  %exitcond216.not = icmp eq i64 %inc, 64
  br i1 %exitcond216.not, label %for.cond.cleanup, label %record.exit

for.cond10:
  %at.0 = phi ptr [ %11, %for.cond.cleanup ], [ %at.0.be, %for.cond10.backedge ]
  %12 = load i64, ptr %at.0, align 8
  switch i64 %12, label %cleanup81 [
    i64 0, label %sw.bb
    i64 1, label %sw.bb21
    i64 2, label %sw.bb43
    i64 3, label %sw.bb51
    i64 4, label %sw.bb60
    i64 5, label %sw.bb75
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
  br i1 %cmp6.i, label %for.body.i160, label %fill.exit

for.body.i160:
  %n.07.i = phi i64 [ %inc.i162, %for.body.i160 ], [ 0, %sw.bb ]
  %arrayidx.i161 = getelementptr inbounds nuw %struct.buffer, ptr %buffers, i64 %n.07.i
  %20 = load i64, ptr %arrayidx.i161, align 8
  %21 = getelementptr inbounds nuw i8, ptr %arrayidx.i161, i64 8
  %22 = load i64, ptr %21, align 8
  %arrayidx.i.i = getelementptr inbounds %union.word, ptr %2, i64 %20
  %23 = load ptr, ptr %arrayidx.i.i, align 8
  %add.ptr.i.i = getelementptr inbounds i8, ptr %23, i64 %22
  %arrayidx2.i = getelementptr inbounds nuw %union.word, ptr %buffers1.i173, i64 %n.07.i
  store ptr %add.ptr.i.i, ptr %arrayidx2.i, align 8
  %inc.i162 = add nuw nsw i64 %n.07.i, 1
  %exitcond.not.i = icmp eq i64 %inc.i162, %19
  br i1 %exitcond.not.i, label %fill.exit, label %for.body.i160

fill.exit:
  br i1 %cmp.not, label %now.exit167, label %cond.true.i164

cond.true.i164:
  %call.i165 = call fastcc i64 @read_clock(ptr noundef readonly %10)
  br label %now.exit167

now.exit167:
  %cond.i166 = phi i64 [ %call.i165, %cond.true.i164 ], [ 0, %fill.exit ]
  %cmp17 = icmp eq i64 %15, 1
  br i1 %cmp17, label %if.then, label %if.else

if.then:
  call void %14(ptr noundef nonnull %7, i64 noundef 0)
  br label %if.end

if.else:
  %24 = load ptr, ptr %parallel_for, align 8
  call void %24(ptr noundef %14, ptr noundef nonnull %7, i64 noundef %15)
  br label %if.end

if.end:
  br i1 %cmp.not, label %record.exit170, label %if.then.i169

if.then.i169:
  %site = getelementptr inbounds nuw i8, ptr %at.0, i64 8
  %25 = load i64, ptr %site, align 8
  call fastcc void @note(ptr noundef %10, i64 noundef %25, i64 noundef %cond.i166)
  br label %record.exit170

record.exit170:
  %26 = load i64, ptr %count, align 8
  %arrayidx20 = getelementptr inbounds %struct.buffer, ptr %buffers, i64 %26
  br label %for.cond10.backedge

sw.bb21:
  %caller23 = getelementptr inbounds nuw i8, ptr %at.0, i64 16
  %27 = load i64, ptr %caller23, align 8
  %arrayidx24 = getelementptr inbounds ptr, ptr %8, i64 %27
  %28 = load ptr, ptr %arrayidx24, align 8
  %function25 = getelementptr inbounds nuw i8, ptr %at.0, i64 24
  %29 = load i64, ptr %function25, align 8
  %arrayidx26 = getelementptr inbounds ptr, ptr %add.ptr, i64 %29
  %30 = load ptr, ptr %arrayidx26, align 8
  store ptr %30, ptr %7, align 16
  %buffers28 = getelementptr inbounds nuw i8, ptr %at.0, i64 40
  %count30 = getelementptr inbounds nuw i8, ptr %at.0, i64 32
  %31 = load i64, ptr %count30, align 8
  %cmp6.i171 = icmp sgt i64 %31, 0
  br i1 %cmp6.i171, label %for.body.i174, label %fill.exit182

for.body.i174:
  %n.07.i175 = phi i64 [ %inc.i180, %for.body.i174 ], [ 0, %sw.bb21 ]
  %arrayidx.i176 = getelementptr inbounds nuw %struct.buffer, ptr %buffers28, i64 %n.07.i175
  %32 = load i64, ptr %arrayidx.i176, align 8
  %33 = getelementptr inbounds nuw i8, ptr %arrayidx.i176, i64 8
  %34 = load i64, ptr %33, align 8
  %arrayidx.i.i177 = getelementptr inbounds %union.word, ptr %2, i64 %32
  %35 = load ptr, ptr %arrayidx.i.i177, align 8
  %add.ptr.i.i178 = getelementptr inbounds i8, ptr %35, i64 %34
  %arrayidx2.i179 = getelementptr inbounds nuw %union.word, ptr %buffers1.i173, i64 %n.07.i175
  store ptr %add.ptr.i.i178, ptr %arrayidx2.i179, align 8
  %inc.i180 = add nuw nsw i64 %n.07.i175, 1
  %exitcond.not.i181 = icmp eq i64 %inc.i180, %31
  br i1 %exitcond.not.i181, label %fill.exit182, label %for.body.i174

fill.exit182:
  br i1 %cmp.not, label %now.exit187.thread, label %if.then.i189

now.exit187.thread:
  %call33207 = call i32 %28(ptr noundef nonnull %7, i64 noundef 0)
  br label %record.exit190

if.then.i189:
  %call.i185 = call fastcc i64 @read_clock(ptr noundef readonly %10)
  %call33 = call i32 %28(ptr noundef nonnull %7, i64 noundef 0)
  %site34 = getelementptr inbounds nuw i8, ptr %at.0, i64 8
  %36 = load i64, ptr %site34, align 8
  call fastcc void @note(ptr noundef %10, i64 noundef %36, i64 noundef %call.i185)
  br label %record.exit190

record.exit190:
  %call33209 = phi i32 [ %call33207, %now.exit187.thread ], [ %call33, %if.then.i189 ]
  %cmp35.not = icmp eq i32 %call33209, 0
  br i1 %cmp35.not, label %if.end37, label %cleanup81

if.end37:
  %37 = load i64, ptr %count30, align 8
  %arrayidx40 = getelementptr inbounds %struct.buffer, ptr %buffers28, i64 %37
  br label %for.cond10.backedge

for.cond10.backedge:
  %at.0.be = phi ptr [ %add.ptr71, %cond.false70 ], [ %arrayidx40, %if.end37 ], [ %arrayidx20, %record.exit170 ], [ %add.ptr49, %record.exit201 ], [ %add.ptr78, %sw.bb75 ], [ %add.ptr58, %cond.false ], [ %add.ptr57, %cond.true ], [ %add.ptr69, %cond.true66 ]
  br label %for.cond10

sw.bb43:
  br i1 %cmp.not, label %now.exit195, label %cond.true.i192

cond.true.i192:
  %call.i193 = call fastcc i64 @read_clock(ptr noundef readonly %10)
  br label %now.exit195

now.exit195:
  %cond.i194 = phi i64 [ %call.i193, %cond.true.i192 ], [ 0, %sw.bb43 ]
  %target = getelementptr inbounds nuw i8, ptr %at.0, i64 40
  %38 = load i64, ptr %target, align 8
  %39 = getelementptr inbounds nuw i8, ptr %at.0, i64 48
  %40 = load i64, ptr %39, align 8
  %arrayidx.i196 = getelementptr inbounds %union.word, ptr %2, i64 %38
  %41 = load ptr, ptr %arrayidx.i196, align 8
  %add.ptr.i = getelementptr inbounds i8, ptr %41, i64 %40
  %source = getelementptr inbounds nuw i8, ptr %at.0, i64 24
  %42 = load i64, ptr %source, align 8
  %43 = getelementptr inbounds nuw i8, ptr %at.0, i64 32
  %44 = load i64, ptr %43, align 8
  %arrayidx.i197 = getelementptr inbounds %union.word, ptr %2, i64 %42
  %45 = load ptr, ptr %arrayidx.i197, align 8
  %add.ptr.i198 = getelementptr inbounds i8, ptr %45, i64 %44
  %bytes = getelementptr inbounds nuw i8, ptr %at.0, i64 16
  %46 = load i64, ptr %bytes, align 8
  call void @llvm.memcpy.p0.p0.i64(ptr align 1 %add.ptr.i, ptr align 1 %add.ptr.i198, i64 %46, i1 false)
  br i1 %cmp.not, label %record.exit201, label %if.then.i200

if.then.i200:
  %site48 = getelementptr inbounds nuw i8, ptr %at.0, i64 8
  %47 = load i64, ptr %site48, align 8
  call fastcc void @note(ptr noundef %10, i64 noundef %47, i64 noundef %cond.i194)
  br label %record.exit201

record.exit201:
  %add.ptr49 = getelementptr inbounds nuw i8, ptr %at.0, i64 56
  br label %for.cond10.backedge

sw.bb51:
  %condition52 = getelementptr inbounds nuw i8, ptr %at.0, i64 8
  %48 = load i64, ptr %condition52, align 8
  %49 = getelementptr inbounds nuw i8, ptr %at.0, i64 16
  %50 = load i64, ptr %49, align 8
  %arrayidx.i202 = getelementptr inbounds %union.word, ptr %2, i64 %48
  %51 = load ptr, ptr %arrayidx.i202, align 8
  %add.ptr.i203 = getelementptr inbounds i8, ptr %51, i64 %50
  %52 = load i8, ptr %add.ptr.i203, align 1
  %cmp54 = icmp eq i8 %52, 0
  br i1 %cmp54, label %cond.true, label %cond.false

cond.true:
  %53 = load ptr, ptr %code, align 8
  %place = getelementptr inbounds nuw i8, ptr %at.0, i64 24
  %54 = load i64, ptr %place, align 8
  %add.ptr57 = getelementptr inbounds i64, ptr %53, i64 %54
  br label %for.cond10.backedge

cond.false:
  %add.ptr58 = getelementptr inbounds nuw i8, ptr %at.0, i64 32
  br label %for.cond10.backedge

sw.bb60:
  %selector61 = getelementptr inbounds nuw i8, ptr %at.0, i64 8
  %55 = load i64, ptr %selector61, align 8
  %56 = getelementptr inbounds nuw i8, ptr %at.0, i64 16
  %57 = load i64, ptr %56, align 8
  %arrayidx.i204 = getelementptr inbounds %union.word, ptr %2, i64 %55
  %58 = load ptr, ptr %arrayidx.i204, align 8
  %add.ptr.i205 = getelementptr inbounds i8, ptr %58, i64 %57
  %59 = load i32, ptr %add.ptr.i205, align 4
  %conv63 = sext i32 %59 to i64
  %number = getelementptr inbounds nuw i8, ptr %at.0, i64 24
  %60 = load i64, ptr %number, align 8
  %cmp64.not = icmp eq i64 %60, %conv63
  br i1 %cmp64.not, label %cond.false70, label %cond.true66

cond.true66:
  %61 = load ptr, ptr %code, align 8
  %place68 = getelementptr inbounds nuw i8, ptr %at.0, i64 32
  %62 = load i64, ptr %place68, align 8
  %add.ptr69 = getelementptr inbounds i64, ptr %61, i64 %62
  br label %for.cond10.backedge

cond.false70:
  %add.ptr71 = getelementptr inbounds nuw i8, ptr %at.0, i64 40
  br label %for.cond10.backedge

sw.bb75:
  %63 = load ptr, ptr %code, align 8
  %place77 = getelementptr inbounds nuw i8, ptr %at.0, i64 8
  %64 = load i64, ptr %place77, align 8
  %add.ptr78 = getelementptr inbounds i64, ptr %63, i64 %64
  br label %for.cond10.backedge

cleanup81:
  %retval.3.ph = phi i32 [ %call33209, %record.exit190 ], [ 0, %for.cond10 ]
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

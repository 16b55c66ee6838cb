; bound_calls.c as LLVM IR: made by regenerate.py with clang 22.1.8, not by hand.

%union.word = type { i64 }
%struct.step = type { ptr, ptr, i64, ptr }
%struct.source = type { i64, %union.word }

define void @tfc_make_direct(ptr noundef writeonly captures(none) %site, ptr noundef %direct) {
entry:
  %0 = ptrtoint ptr %direct to i64
  store atomic i64 %0, ptr %site release, align 8
  ret void
}

define i32 @tfc_bound_call(ptr noundef %frame, i64 noundef %chunk) {
entry:
  %words.i = alloca [16 x %union.word], align 16
  %0 = load ptr, ptr %frame, align 8
  %1 = load atomic i64, ptr %0 acquire, align 8
  %2 = inttoptr i64 %1 to ptr
  %cmp = icmp eq i64 %1, 0
  br i1 %cmp, label %if.then, label %lor.rhs

lor.rhs:
  %3 = load ptr, ptr %2, align 8
  %4 = getelementptr inbounds nuw i8, ptr %frame, i64 8
  %5 = load ptr, ptr %4, align 8
  %cmp2.not = icmp eq ptr %3, %5
  br i1 %cmp2.not, label %if.end, label %if.then

if.then:
  %python = getelementptr inbounds nuw i8, ptr %0, i64 8
  %6 = load ptr, ptr %python, align 8
  %call = tail call i32 %6(ptr noundef nonnull %frame, i32 noundef 0)
  br label %cleanup24

if.end:
  %number = getelementptr inbounds nuw i8, ptr %2, i64 24
  %7 = load i64, ptr %number, align 8
  %doing = getelementptr inbounds nuw i8, ptr %2, i64 8
  %8 = load ptr, ptr %doing, align 8
  store volatile i64 %7, ptr %8, align 8
  %count = getelementptr inbounds nuw i8, ptr %2, i64 32
  %9 = load i64, ptr %count, align 8
  %cmp4.not51 = icmp sgt i64 %9, 0
  br i1 %cmp4.not51, label %for.body.lr.ph, label %for.end

for.body.lr.ph:
  %steps = getelementptr inbounds nuw i8, ptr %2, i64 40
  %buffers = getelementptr inbounds nuw i8, ptr %frame, i64 16
  %arrayidx12.i = getelementptr inbounds nuw i8, ptr %words.i, i64 8
  %arrayidx13.i = getelementptr inbounds nuw i8, ptr %words.i, i64 16
  br label %for.body

for.body:
  %n.052 = phi i64 [ 0, %for.body.lr.ph ], [ %inc, %for.inc ]
  %10 = load ptr, ptr %steps, align 8
  %arrayidx = getelementptr inbounds nuw %struct.step, ptr %10, i64 %n.052
  call void @llvm.lifetime.start.p0(ptr nonnull %words.i)
  %count.i = getelementptr inbounds nuw i8, ptr %arrayidx, i64 16
  %11 = load i64, ptr %count.i, align 8
  %cmp26.i = icmp sgt i64 %11, 0
  br i1 %cmp26.i, label %for.body.lr.ph.i, label %for.cond.cleanup.i

for.body.lr.ph.i:
  %sources.i = getelementptr inbounds nuw i8, ptr %arrayidx, i64 24
  %12 = load ptr, ptr %sources.i, align 8
  br label %for.body.i

for.cond.cleanup.i:
  %13 = load ptr, ptr %arrayidx, align 8
  %cmp7.not.i = icmp eq ptr %13, null
  br i1 %cmp7.not.i, label %run.exit.thread, label %run.exit

for.body.i:
  %n.027.i = phi i64 [ 0, %for.body.lr.ph.i ], [ %inc.i, %if.end.i ]
  %arrayidx.i = getelementptr inbounds nuw %struct.source, ptr %12, i64 %n.027.i
  %arrayidx1.i = getelementptr inbounds nuw %union.word, ptr %words.i, i64 %n.027.i
  %value.i = getelementptr inbounds nuw i8, ptr %arrayidx.i, i64 8
  %14 = load i64, ptr %value.i, align 8
  store i64 %14, ptr %arrayidx1.i, align 8
  %15 = load i64, ptr %arrayidx.i, align 8
  %cmp2.i = icmp sgt i64 %15, -1
  br i1 %cmp2.i, label %if.then.i, label %if.end.i

if.then.i:
  %arrayidx4.i = getelementptr inbounds nuw %union.word, ptr %buffers, i64 %15
  %16 = load ptr, ptr %arrayidx4.i, align 8
  %add.ptr.i = getelementptr inbounds i8, ptr %16, i64 %14
  store ptr %add.ptr.i, ptr %arrayidx1.i, align 8
  br label %if.end.i

if.end.i:
  %inc.i = add nuw nsw i64 %n.027.i, 1
  %exitcond.not.i = icmp eq i64 %inc.i, %11
  br i1 %exitcond.not.i, label %for.cond.cleanup.i, label %for.body.i

run.exit.thread:
  %17 = load ptr, ptr %words.i, align 16
  %18 = load ptr, ptr %arrayidx12.i, align 8
  %19 = load i64, ptr %arrayidx13.i, align 16
  call void @llvm.memcpy.p0.p0.i64(ptr align 1 %17, ptr align 1 %18, i64 %19, i1 false)
  call void @llvm.lifetime.end.p0(ptr nonnull %words.i)
  br label %for.inc

run.exit:
  %function.i = getelementptr inbounds nuw i8, ptr %arrayidx, i64 8
  %20 = load ptr, ptr %function.i, align 8
  %call.i = call i32 %13(ptr noundef %20, ptr noundef nonnull %words.i)
  call void @llvm.lifetime.end.p0(ptr nonnull %words.i)
  %cmp7.not = icmp eq i32 %call.i, 0
  br i1 %cmp7.not, label %for.inc, label %cleanup20

for.inc:
  %inc = add nuw nsw i64 %n.052, 1
  %21 = load i64, ptr %count, align 8
  %cmp4.not = icmp slt i64 %inc, %21
  br i1 %cmp4.not, label %for.body, label %for.end

cleanup20:
  %python17 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %22 = load ptr, ptr %python17, align 8
  %call18 = call i32 %22(ptr noundef nonnull %frame, i32 noundef %call.i)
  br label %cleanup24

for.end:
  %done = getelementptr inbounds nuw i8, ptr %2, i64 16
  %23 = load ptr, ptr %done, align 8
  %24 = load volatile i64, ptr %23, align 8
  %inc22 = add nsw i64 %24, 1
  store volatile i64 %inc22, ptr %23, align 8
  %25 = load ptr, ptr %doing, align 8
  store volatile i64 0, ptr %25, align 8
  br label %cleanup24

cleanup24:
  %retval.3 = phi i32 [ %call, %if.then ], [ 0, %for.end ], [ %call18, %cleanup20 ]
  ret i32 %retval.3
}

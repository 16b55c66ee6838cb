; pool.c as LLVM IR: made by regenerate.py with clang 22.1.8, not by hand.

%struct.anon.0 = type { %struct.anon.1, [40 x i8], i64, [56 x i8], i64, [56 x i8], i64, [56 x i8], i64, [56 x i8], i64, [56 x i8], i64, [56 x i8] }
%struct.anon.1 = type { ptr, ptr, i64 }

@own.0 = internal global i64 0, align 8
@own.1 = internal global i64 0, align 8
@own.2 = internal global i64 0, align 8
@own.3 = internal global i64 0, align 8
@shared = internal global %struct.anon.0 zeroinitializer, align 64
@workers = internal global [256 x i64] zeroinitializer, align 16
@mutex = internal global [16 x i64] zeroinitializer, align 64
@condition = internal global [16 x i64] zeroinitializer, align 64
@tfc_sig_setmask = external constant i32, align 4
@tfc_is_linux = external constant i32, align 4

define void @tfc_parallel_for(ptr noundef %run, ptr noundef %context, i64 noundef %count, ptr noundef readnone captures(none) %unused) {
entry:
  %0 = load atomic i64, ptr @own.0 monotonic, align 8
  %cmp = icmp slt i64 %0, 2
  br i1 %cmp, label %if.then, label %lor.lhs.false

lor.lhs.false:
  %1 = atomicrmw xchg ptr getelementptr inbounds nuw (i8, ptr @shared, i64 384), i64 1 seq_cst, align 8
  %cmp1.not = icmp eq i64 %1, 0
  br i1 %cmp1.not, label %if.end, label %if.then

if.then:
  %cmp232 = icmp sgt i64 %count, 0
  br i1 %cmp232, label %for.body, label %cleanup

for.body:
  %chunk.033 = phi i64 [ %inc, %for.body ], [ 0, %if.then ]
  tail call void %run(ptr noundef %context, i64 noundef %chunk.033)
  %inc = add nuw nsw i64 %chunk.033, 1
  %exitcond.not = icmp eq i64 %inc, %count
  br i1 %exitcond.not, label %cleanup, label %for.body

if.end:
  %2 = load i64, ptr @own.1, align 8
  %3 = load i64, ptr @own.0, align 8
  %sub4.i = add nsw i64 %3, -1
  %cmp5.i = icmp slt i64 %2, %sub4.i
  br i1 %cmp5.i, label %while.body.i, label %start.exit

while.body.i:
  %4 = phi i64 [ %inc.i, %if.end.i ], [ %2, %if.end ]
  %arrayidx.i = getelementptr inbounds i64, ptr @workers, i64 %4
  %call.i = tail call i32 @pthread_create(ptr noundef nonnull %arrayidx.i, ptr noundef null, ptr noundef nonnull @worker, ptr noundef null)
  %cmp2.not.i = icmp eq i32 %call.i, 0
  br i1 %cmp2.not.i, label %if.end.i, label %start.exit

if.end.i:
  %5 = load i64, ptr @own.1, align 8
  %inc.i = add nsw i64 %5, 1
  store i64 %inc.i, ptr @own.1, align 8
  store i64 0, ptr @own.3, align 8
  %6 = load i64, ptr @own.0, align 8
  %sub.i = add nsw i64 %6, -1
  %cmp.i = icmp slt i64 %inc.i, %sub.i
  br i1 %cmp.i, label %while.body.i, label %start.exit

start.exit:
  store ptr %run, ptr @shared, align 64
  store ptr %context, ptr getelementptr inbounds nuw (i8, ptr @shared, i64 8), align 8
  store i64 %count, ptr getelementptr inbounds nuw (i8, ptr @shared, i64 16), align 16
  %7 = atomicrmw xchg ptr getelementptr inbounds nuw (i8, ptr @shared, i64 64), i64 0 seq_cst, align 8
  %8 = load i64, ptr @own.2, align 8
  %inc4 = add nsw i64 %8, 1
  store i64 %inc4, ptr @own.2, align 8
  %9 = atomicrmw xchg ptr getelementptr inbounds nuw (i8, ptr @shared, i64 128), i64 %inc4 seq_cst, align 8
  %10 = load atomic i64, ptr getelementptr inbounds nuw (i8, ptr @shared, i64 256) seq_cst, align 64
  %cmp7.not = icmp eq i64 %10, 0
  br i1 %cmp7.not, label %if.end9, label %if.then8

if.then8:
  tail call fastcc void @keep_off()
  tail call fastcc void @wake()
  br label %if.end9

if.end9:
  %11 = load ptr, ptr @shared, align 64
  %12 = load ptr, ptr getelementptr inbounds nuw (i8, ptr @shared, i64 8), align 8
  %13 = load i64, ptr getelementptr inbounds nuw (i8, ptr @shared, i64 16), align 16
  %14 = atomicrmw add ptr getelementptr inbounds nuw (i8, ptr @shared, i64 64), i64 1 seq_cst, align 8
  %cmp1.i = icmp slt i64 %14, %13
  br i1 %cmp1.i, label %for.body.i, label %work.exit

for.body.i:
  %15 = phi i64 [ %16, %for.body.i ], [ %14, %if.end9 ]
  tail call void %11(ptr noundef %12, i64 noundef %15)
  %16 = atomicrmw add ptr getelementptr inbounds nuw (i8, ptr @shared, i64 64), i64 1 seq_cst, align 8
  %cmp.i29 = icmp slt i64 %16, %13
  br i1 %cmp.i29, label %for.body.i, label %work.exit

work.exit:
  %17 = atomicrmw xchg ptr getelementptr inbounds nuw (i8, ptr @shared, i64 128), i64 0 seq_cst, align 8
  %18 = load atomic i64, ptr getelementptr inbounds nuw (i8, ptr @shared, i64 192) seq_cst, align 64
  %cmp13.not30 = icmp eq i64 %18, 0
  br i1 %cmp13.not30, label %for.cond.cleanup14, label %for.body15

for.cond.cleanup14:
  %19 = atomicrmw xchg ptr getelementptr inbounds nuw (i8, ptr @shared, i64 384), i64 0 seq_cst, align 8
  br label %cleanup

for.body15:
  %spins.031 = phi i64 [ %inc16, %for.inc21 ], [ 0, %work.exit ]
  %inc16 = add nuw nsw i64 %spins.031, 1
  %cmp17 = icmp samesign ugt i64 %spins.031, 1999
  br i1 %cmp17, label %if.then18, label %for.inc21

if.then18:
  tail call fastcc void @keep_off()
  %call19 = tail call i32 @sched_yield()
  br label %for.inc21

for.inc21:
  tail call void @tfc_pause()
  %20 = load atomic i64, ptr getelementptr inbounds nuw (i8, ptr @shared, i64 192) seq_cst, align 64
  %cmp13.not = icmp eq i64 %20, 0
  br i1 %cmp13.not, label %for.cond.cleanup14, label %for.body15

cleanup:
  ret void
}

define internal fastcc void @keep_off() {
entry:
  %allowed = alloca [16 x i64], align 16
  %0 = load i32, ptr @tfc_is_linux, align 4
  %tobool.not = icmp eq i32 %0, 0
  br i1 %tobool.not, label %cleanup.cont, label %if.end

if.end:
  call void @llvm.lifetime.start.p0(ptr nonnull %allowed)
  %call = tail call i32 @sched_getcpu()
  %conv = sext i32 %call to i64
  %1 = load i64, ptr @own.3, align 8
  %add = add nsw i64 %conv, 1
  %cmp = icmp eq i64 %1, %add
  %2 = icmp ugt i32 %call, 1023
  %or.cond21 = or i1 %2, %cmp
  br i1 %or.cond21, label %cleanup, label %if.end8

if.end8:
  store i64 %add, ptr @own.3, align 8
  %call10 = call i32 @sched_getaffinity(i32 noundef 0, i64 noundef 128, ptr noundef nonnull %allowed)
  %cmp11 = icmp slt i32 %call10, 0
  br i1 %cmp11, label %cleanup, label %if.end14

if.end14:
  %rem = and i64 %conv, 63
  %shl = shl nuw i64 1, %rem
  %not = xor i64 %shl, -1
  %div29 = lshr i64 %conv, 6
  %arrayidx = getelementptr inbounds nuw i64, ptr %allowed, i64 %div29
  %3 = load i64, ptr %arrayidx, align 8
  %and = and i64 %3, %not
  store i64 %and, ptr %arrayidx, align 8
  %4 = load i64, ptr @own.1, align 8
  %cmp1530 = icmp sgt i64 %4, 0
  br i1 %cmp1530, label %for.body, label %cleanup

for.body:
  %n.031 = phi i64 [ %inc, %for.body ], [ 0, %if.end14 ]
  %arrayidx17 = getelementptr inbounds nuw i64, ptr @workers, i64 %n.031
  %5 = load i64, ptr %arrayidx17, align 8
  %call19 = call i32 @pthread_setaffinity_np(i64 noundef %5, i64 noundef 128, ptr noundef nonnull %allowed)
  %inc = add nuw nsw i64 %n.031, 1
  %6 = load i64, ptr @own.1, align 8
  %cmp15 = icmp slt i64 %inc, %6
  br i1 %cmp15, label %for.body, label %cleanup

cleanup:
  call void @llvm.lifetime.end.p0(ptr nonnull %allowed)
  br label %cleanup.cont

cleanup.cont:
  ret void
}

define internal fastcc void @wake() {
entry:
  %call = tail call i32 @pthread_mutex_lock(ptr noundef nonnull @mutex)
  %call1 = tail call i32 @pthread_cond_broadcast(ptr noundef nonnull @condition)
  %call2 = tail call i32 @pthread_mutex_unlock(ptr noundef nonnull @mutex)
  ret void
}

declare i32 @sched_yield()

declare void @tfc_pause()

define void @tfc_resize(i64 noundef %threads) {
entry:
  %0 = atomicrmw xchg ptr getelementptr inbounds nuw (i8, ptr @shared, i64 384), i64 1 seq_cst, align 8
  %cmp.not11 = icmp eq i64 %0, 0
  br i1 %cmp.not11, label %while.end, label %while.body

while.body:
  %call1 = tail call i32 @sched_yield()
  %1 = atomicrmw xchg ptr getelementptr inbounds nuw (i8, ptr @shared, i64 384), i64 1 seq_cst, align 8
  %cmp.not = icmp eq i64 %1, 0
  br i1 %cmp.not, label %while.end, label %while.body

while.end:
  %2 = load i64, ptr @own.1, align 8
  %cmp2.not = icmp slt i64 %2, %threads
  br i1 %cmp2.not, label %if.end, label %if.then

if.then:
  %3 = atomicrmw xchg ptr getelementptr inbounds nuw (i8, ptr @shared, i64 320), i64 1 seq_cst, align 8
  tail call fastcc void @wake()
  %4 = load i64, ptr @own.1, align 8
  %cmp412 = icmp sgt i64 %4, 0
  br i1 %cmp412, label %for.body, label %for.cond.cleanup

for.cond.cleanup:
  store i64 0, ptr @own.1, align 8
  %5 = atomicrmw xchg ptr getelementptr inbounds nuw (i8, ptr @shared, i64 320), i64 0 seq_cst, align 8
  br label %if.end

for.body:
  %n.013 = phi i64 [ %inc, %for.body ], [ 0, %if.then ]
  %arrayidx = getelementptr inbounds nuw i64, ptr @workers, i64 %n.013
  %6 = load i64, ptr %arrayidx, align 8
  %call5 = tail call i32 @pthread_join(i64 noundef %6, ptr noundef null)
  %inc = add nuw nsw i64 %n.013, 1
  %7 = load i64, ptr @own.1, align 8
  %cmp4 = icmp slt i64 %inc, %7
  br i1 %cmp4, label %for.body, label %for.cond.cleanup

if.end:
  store atomic i64 %threads, ptr @own.0 monotonic, align 8
  %8 = atomicrmw xchg ptr getelementptr inbounds nuw (i8, ptr @shared, i64 384), i64 0 seq_cst, align 8
  ret void
}

declare i32 @pthread_join(i64 noundef, ptr noundef)

define void @tfc_forget_threads() {
entry:
  store i64 0, ptr getelementptr inbounds nuw (i8, ptr @shared, i64 192), align 64
  store i64 0, ptr getelementptr inbounds nuw (i8, ptr @shared, i64 128), align 64
  store i64 0, ptr getelementptr inbounds nuw (i8, ptr @shared, i64 64), align 64
  store i64 0, ptr getelementptr inbounds nuw (i8, ptr @shared, i64 384), align 64
  store i64 0, ptr getelementptr inbounds nuw (i8, ptr @shared, i64 320), align 64
  store i64 0, ptr getelementptr inbounds nuw (i8, ptr @shared, i64 256), align 64
  store i64 0, ptr @own.1, align 8
  %call = tail call i32 @pthread_mutex_init(ptr noundef nonnull @mutex, ptr noundef null)
  %call1 = tail call i32 @pthread_cond_init(ptr noundef nonnull @condition, ptr noundef null)
  ret void
}

declare i32 @pthread_mutex_init(ptr noundef, ptr noundef)

declare i32 @pthread_cond_init(ptr noundef, ptr noundef)

declare i32 @pthread_create(ptr noundef, ptr noundef, ptr noundef, ptr noundef)

define internal noundef ptr @worker(ptr noundef readnone returned captures(ret: address, provenance) %nothing) {
entry:
  %signals = alloca [16 x i64], align 16
  call void @llvm.lifetime.start.p0(ptr nonnull %signals)
  %call = call i32 @sigfillset(ptr noundef nonnull %signals)
  %0 = load i32, ptr @tfc_sig_setmask, align 4
  %call2 = call i32 @pthread_sigmask(i32 noundef %0, ptr noundef nonnull %signals, ptr noundef null)
  br label %for.cond

for.cond:
  %seen.0 = phi i64 [ 0, %entry ], [ %seen.1, %if.end8 ]
  %1 = load atomic i64, ptr getelementptr inbounds nuw (i8, ptr @shared, i64 128) seq_cst, align 64
  %cmp.not.i24.i = icmp eq i64 %1, 0
  %cmp1.not.i25.i = icmp eq i64 %1, %seen.0
  %or.cond.i26.i = or i1 %cmp.not.i24.i, %cmp1.not.i25.i
  br i1 %or.cond.i26.i, label %is_called.exit.i, label %wait_for_job.exit

is_called.exit.i:
  %spins.027.i = phi i64 [ %spins.1.i, %for.inc.i ], [ 0, %for.cond ]
  %2 = load atomic i64, ptr getelementptr inbounds nuw (i8, ptr @shared, i64 320) seq_cst, align 64
  %cmp3.i.not.i = icmp eq i64 %2, 0
  br i1 %cmp3.i.not.i, label %for.body.i, label %wait_for_job.exit

for.body.i:
  %inc.i = add nsw i64 %spins.027.i, 1
  %cmp.i = icmp slt i64 %spins.027.i, 2000
  br i1 %cmp.i, label %for.inc.i, label %if.end.i

if.end.i:
  %call1.i = call i32 @pthread_mutex_lock(ptr noundef nonnull @mutex)
  %3 = atomicrmw add ptr getelementptr inbounds nuw (i8, ptr @shared, i64 256), i64 1 seq_cst, align 8
  %4 = load atomic i64, ptr getelementptr inbounds nuw (i8, ptr @shared, i64 128) seq_cst, align 64
  %cmp.not.i1021.i = icmp eq i64 %4, 0
  %cmp1.not.i1122.i = icmp eq i64 %4, %seen.0
  %or.cond.i1223.i = or i1 %cmp.not.i1021.i, %cmp1.not.i1122.i
  br i1 %or.cond.i1223.i, label %is_called.exit16.i, label %while.end.i

is_called.exit16.i:
  %5 = load atomic i64, ptr getelementptr inbounds nuw (i8, ptr @shared, i64 320) seq_cst, align 64
  %cmp3.i15.not.i = icmp eq i64 %5, 0
  br i1 %cmp3.i15.not.i, label %while.body.i, label %while.end.i

while.body.i:
  %call6.i = call i32 @pthread_cond_wait(ptr noundef nonnull @condition, ptr noundef nonnull @mutex)
  %6 = load atomic i64, ptr getelementptr inbounds nuw (i8, ptr @shared, i64 128) seq_cst, align 64
  %cmp.not.i10.i = icmp eq i64 %6, 0
  %cmp1.not.i11.i = icmp eq i64 %6, %seen.0
  %or.cond.i12.i = or i1 %cmp.not.i10.i, %cmp1.not.i11.i
  br i1 %or.cond.i12.i, label %is_called.exit16.i, label %while.end.i

while.end.i:
  %7 = atomicrmw add ptr getelementptr inbounds nuw (i8, ptr @shared, i64 256), i64 -1 seq_cst, align 8
  %call8.i = call i32 @pthread_mutex_unlock(ptr noundef nonnull @mutex)
  br label %for.inc.i

for.inc.i:
  %spins.1.i = phi i64 [ %inc.i, %for.body.i ], [ 0, %while.end.i ]
  call void @tfc_pause()
  %8 = load atomic i64, ptr getelementptr inbounds nuw (i8, ptr @shared, i64 128) seq_cst, align 64
  %cmp.not.i.i = icmp eq i64 %8, 0
  %cmp1.not.i.i = icmp eq i64 %8, %seen.0
  %or.cond.i.i = or i1 %cmp.not.i.i, %cmp1.not.i.i
  br i1 %or.cond.i.i, label %is_called.exit.i, label %wait_for_job.exit

wait_for_job.exit:
  %9 = load atomic i64, ptr getelementptr inbounds nuw (i8, ptr @shared, i64 320) seq_cst, align 64
  %cmp.not = icmp eq i64 %9, 0
  br i1 %cmp.not, label %if.end, label %if.then

if.then:
  call void @llvm.lifetime.end.p0(ptr nonnull %signals)
  ret ptr %nothing

if.end:
  %10 = atomicrmw add ptr getelementptr inbounds nuw (i8, ptr @shared, i64 192), i64 1 seq_cst, align 8
  %11 = load atomic i64, ptr getelementptr inbounds nuw (i8, ptr @shared, i64 128) seq_cst, align 64
  %cmp6.not = icmp eq i64 %11, 0
  br i1 %cmp6.not, label %if.end8, label %if.then7

if.then7:
  %12 = load ptr, ptr @shared, align 64
  %13 = load ptr, ptr getelementptr inbounds nuw (i8, ptr @shared, i64 8), align 8
  %14 = load i64, ptr getelementptr inbounds nuw (i8, ptr @shared, i64 16), align 16
  %15 = atomicrmw add ptr getelementptr inbounds nuw (i8, ptr @shared, i64 64), i64 1 seq_cst, align 8
  %cmp1.i = icmp slt i64 %15, %14
  br i1 %cmp1.i, label %for.body.i11, label %if.end8

for.body.i11:
  %16 = phi i64 [ %17, %for.body.i11 ], [ %15, %if.then7 ]
  call void %12(ptr noundef %13, i64 noundef %16)
  %17 = atomicrmw add ptr getelementptr inbounds nuw (i8, ptr @shared, i64 64), i64 1 seq_cst, align 8
  %cmp.i12 = icmp slt i64 %17, %14
  br i1 %cmp.i12, label %for.body.i11, label %if.end8

if.end8:
  %seen.1 = phi i64 [ %seen.0, %if.end ], [ %11, %if.then7 ], [ %11, %for.body.i11 ]
  %18 = atomicrmw add ptr getelementptr inbounds nuw (i8, ptr @shared, i64 192), i64 -1 seq_cst, align 8
  br label %for.cond
}

declare i32 @sigfillset(ptr noundef)

declare i32 @pthread_sigmask(i32 noundef, ptr noundef, ptr noundef)

declare i32 @pthread_mutex_lock(ptr noundef)

declare i32 @pthread_cond_wait(ptr noundef, ptr noundef)

declare i32 @pthread_mutex_unlock(ptr noundef)

declare extern_weak i32 @sched_getcpu()

declare extern_weak i32 @sched_getaffinity(i32 noundef, i64 noundef, ptr noundef)

declare extern_weak i32 @pthread_setaffinity_np(i64 noundef, i64 noundef, ptr noundef)

declare i32 @pthread_cond_broadcast(ptr noundef)

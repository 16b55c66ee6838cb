; processor_check.c as LLVM IR: made by regenerate.py with clang 22.1.8, not by hand.

%struct.version = type { ptr, i32, i32, i32, ptr, ptr }
%struct.answer = type { [2 x i64] }
%struct.need = type { i32, i32, i32, i32 }

@tfc_versions = external constant [0 x %struct.version], align 8
@.str = private constant [1 x i8] zeroinitializer, align 1
@chosen.known = internal global i8 0, align 1
@tfc_version_count = external constant i32, align 4

define i32 @tfc_checked_run(ptr noundef %arguments, ptr noundef %results, ptr noundef %arena) {
entry:
  %call = tail call fastcc i32 @chosen()
  %cmp = icmp eq i32 %call, 0
  br i1 %cmp, label %cleanup, label %if.end

if.end:
  %0 = sext i32 %call to i64
  %1 = getelementptr %struct.version, ptr @tfc_versions, i64 %0
  %run = getelementptr i8, ptr %1, i64 -8
  %2 = load ptr, ptr %run, align 8
  %call1 = tail call i32 %2(ptr noundef %arguments, ptr noundef %results, ptr noundef %arena)
  br label %cleanup

cleanup:
  %retval.0 = phi i32 [ %call1, %if.end ], [ 2, %entry ]
  ret i32 %retval.0
}

define internal fastcc i32 @chosen() {
entry:
  %answer.i = alloca %struct.answer, align 8
  %0 = load atomic i8, ptr @chosen.known monotonic, align 1
  %conv = zext i8 %0 to i32
  %cmp = icmp eq i8 %0, 0
  br i1 %cmp, label %if.then, label %if.end

if.then:
  %1 = load i32, ptr @tfc_version_count, align 4
  %cmp215 = icmp sgt i32 %1, 0
  br i1 %cmp215, label %land.rhs.lr.ph, label %for.end

land.rhs.lr.ph:
  %2 = getelementptr inbounds nuw i8, ptr %answer.i, i64 8
  %3 = zext nneg i32 %1 to i64
  br label %land.rhs

land.rhs:
  %indvars.iv = phi i64 [ %3, %land.rhs.lr.ph ], [ %indvars.iv.next, %for.body ]
  %4 = getelementptr %struct.version, ptr @tfc_versions, i64 %indvars.iv
  %arrayidx = getelementptr i8, ptr %4, i64 -40
  %call.i = tail call x86_64_sysvcc { i64, i64 } @tfc_cpuid(i32 noundef 0, i32 noundef 0)
  %5 = extractvalue { i64, i64 } %call.i, 0
  %conv.i = trunc i64 %5 to i32
  %most_leaf.i = getelementptr i8, ptr %4, i64 -28
  %6 = load i32, ptr %most_leaf.i, align 4
  %cmp.i = icmp ugt i32 %6, %conv.i
  br i1 %cmp.i, label %for.body, label %for.cond.preheader.i

for.cond.preheader.i:
  %need_count.i = getelementptr i8, ptr %4, i64 -32
  %7 = load i32, ptr %need_count.i, align 8
  %cmp244.not.i = icmp eq i32 %7, 0
  br i1 %cmp244.not.i, label %for.end.i, label %for.body.lr.ph.i

for.body.lr.ph.i:
  %8 = load ptr, ptr %arrayidx, align 8
  %9 = zext i32 %7 to i64
  br label %for.body.i

for.cond.i:
  %indvars.iv.next.i = add nuw nsw i64 %indvars.iv.i, 1
  %exitcond.not = icmp eq i64 %indvars.iv.next.i, %9
  br i1 %exitcond.not, label %for.end.i, label %for.body.i

for.body.i:
  %indvars.iv.i = phi i64 [ 0, %for.body.lr.ph.i ], [ %indvars.iv.next.i, %for.cond.i ]
  %arrayidx4.i = getelementptr inbounds nuw %struct.need, ptr %8, i64 %indvars.iv.i
  call void @llvm.lifetime.start.p0(ptr nonnull %answer.i)
  %10 = load i32, ptr %arrayidx4.i, align 4
  %subleaf.i = getelementptr inbounds nuw i8, ptr %arrayidx4.i, i64 4
  %11 = load i32, ptr %subleaf.i, align 4
  %call5.i = tail call x86_64_sysvcc { i64, i64 } @tfc_cpuid(i32 noundef %10, i32 noundef %11)
  %12 = extractvalue { i64, i64 } %call5.i, 0
  store i64 %12, ptr %answer.i, align 8
  %13 = extractvalue { i64, i64 } %call5.i, 1
  store i64 %13, ptr %2, align 8
  %from.i = getelementptr inbounds nuw i8, ptr %arrayidx4.i, i64 8
  %14 = load i32, ptr %from.i, align 4
  %div42.i = lshr i32 %14, 6
  %idxprom8.i = zext nneg i32 %div42.i to i64
  %arrayidx9.i = getelementptr inbounds nuw i64, ptr %answer.i, i64 %idxprom8.i
  %15 = load i64, ptr %arrayidx9.i, align 8
  %rem.i = and i32 %14, 63
  %sh_prom.i = zext nneg i32 %rem.i to i64
  %shr.i = lshr i64 %15, %sh_prom.i
  %conv11.i = trunc i64 %shr.i to i32
  %mask.i = getelementptr inbounds nuw i8, ptr %arrayidx4.i, i64 12
  %16 = load i32, ptr %mask.i, align 4
  %and.i = and i32 %16, %conv11.i
  %cmp13.not.i = icmp eq i32 %and.i, %16
  call void @llvm.lifetime.end.p0(ptr nonnull %answer.i)
  br i1 %cmp13.not.i, label %for.cond.i, label %for.body

for.end.i:
  %saved.i = getelementptr i8, ptr %4, i64 -24
  %17 = load i32, ptr %saved.i, align 8
  %cmp21.i = icmp eq i32 %17, 0
  br i1 %cmp21.i, label %for.end.loopexit.split.loop.exit, label %fits.exit

fits.exit:
  %call23.i = tail call x86_64_sysvcc i32 @tfc_xgetbv()
  %and25.i = and i32 %call23.i, %17
  %cmp27.i.not = icmp eq i32 %and25.i, %17
  br i1 %cmp27.i.not, label %for.end.loopexit.split.loop.exit24, label %for.body

for.body:
  %indvars.iv.next = add nsw i64 %indvars.iv, -1
  %cmp2 = icmp sgt i64 %indvars.iv, 1
  br i1 %cmp2, label %land.rhs, label %for.end

for.end.loopexit.split.loop.exit:
  %18 = trunc nuw nsw i64 %indvars.iv to i32
  br label %for.end

for.end.loopexit.split.loop.exit24:
  %19 = trunc nuw nsw i64 %indvars.iv to i32
  br label %for.end

for.end:
  %number.0.lcssa = phi i32 [ %1, %if.then ], [ %19, %for.end.loopexit.split.loop.exit24 ], [ %18, %for.end.loopexit.split.loop.exit ], [ 0, %for.body ]
  %conv4 = trunc i32 %number.0.lcssa to i8
  store atomic i8 %conv4, ptr @chosen.known monotonic, align 1
  br label %if.end

if.end:
  %number.1 = phi i32 [ %number.0.lcssa, %for.end ], [ %conv, %entry ]
  ret i32 %number.1
}

define ptr @tfc_checked_cpu() {
entry:
  %call = tail call fastcc i32 @chosen()
  %cmp = icmp eq i32 %call, 0
  br i1 %cmp, label %cond.end, label %cond.false

cond.false:
  %0 = sext i32 %call to i64
  %1 = getelementptr %struct.version, ptr @tfc_versions, i64 %0
  %cpu = getelementptr i8, ptr %1, i64 -16
  %2 = load ptr, ptr %cpu, align 8
  br label %cond.end

cond.end:
  %cond = phi ptr [ %2, %cond.false ], [ @.str, %entry ]
  ret ptr %cond
}

declare x86_64_sysvcc { i64, i64 } @tfc_cpuid(i32 noundef, i32 noundef)

declare x86_64_sysvcc i32 @tfc_xgetbv()

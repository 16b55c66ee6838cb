; processor_check.c as LLVM IR: made by regenerate.py with clang 22.1.8, not by hand.

%struct.need = type { i32, i32, i32, i32 }
%struct.answer = type { [2 x i64] }

@tfc_checked_run.is_known = internal global i8 0, align 1
@tfc_most_leaf = external constant i32, align 4
@tfc_need_count = external constant i32, align 4
@tfc_needs = external constant [0 x %struct.need], align 4
@tfc_saved = external constant i32, align 4

define i32 @tfc_checked_run(ptr noundef %arguments, ptr noundef %results, ptr noundef %arena) {
entry:
  %answer.i = alloca %struct.answer, align 8
  %0 = load atomic i8, ptr @tfc_checked_run.is_known monotonic, align 1
  %tobool.not = icmp eq i8 %0, 0
  br i1 %tobool.not, label %if.then, label %if.end3

if.then:
  %call.i = tail call x86_64_sysvcc { i64, i64 } @tfc_cpuid(i32 noundef 0, i32 noundef 0)
  %1 = extractvalue { i64, i64 } %call.i, 0
  %conv.i = trunc i64 %1 to i32
  %2 = load i32, ptr @tfc_most_leaf, align 4
  %cmp.i = icmp ugt i32 %2, %conv.i
  br i1 %cmp.i, label %return, label %for.cond.preheader.i

for.cond.preheader.i:
  %3 = load i32, ptr @tfc_need_count, align 4
  %cmp237.i = icmp sgt i32 %3, 0
  br i1 %cmp237.i, label %for.body.lr.ph.i, label %for.end.i

for.body.lr.ph.i:
  %4 = getelementptr inbounds nuw i8, ptr %answer.i, i64 8
  %wide.trip.count.i = zext nneg i32 %3 to i64
  br label %for.body.i

for.cond.i:
  %indvars.iv.next.i = add nuw nsw i64 %indvars.iv.i, 1
  %exitcond.not.i = icmp eq i64 %indvars.iv.next.i, %wide.trip.count.i
  br i1 %exitcond.not.i, label %for.end.i, label %for.body.i

for.body.i:
  %indvars.iv.i = phi i64 [ 0, %for.body.lr.ph.i ], [ %indvars.iv.next.i, %for.cond.i ]
  %arrayidx4.i = getelementptr inbounds nuw %struct.need, ptr @tfc_needs, i64 %indvars.iv.i
  call void @llvm.lifetime.start.p0(ptr nonnull %answer.i)
  %5 = load i32, ptr %arrayidx4.i, align 4
  %subleaf.i = getelementptr inbounds nuw i8, ptr %arrayidx4.i, i64 4
  %6 = load i32, ptr %subleaf.i, align 4
  %call5.i = tail call x86_64_sysvcc { i64, i64 } @tfc_cpuid(i32 noundef %5, i32 noundef %6)
  %7 = extractvalue { i64, i64 } %call5.i, 0
  store i64 %7, ptr %answer.i, align 8
  %8 = extractvalue { i64, i64 } %call5.i, 1
  store i64 %8, ptr %4, align 8
  %from.i = getelementptr inbounds nuw i8, ptr %arrayidx4.i, i64 8
  %9 = load i32, ptr %from.i, align 4
  %div35.i = lshr i32 %9, 6
  %idxprom8.i = zext nneg i32 %div35.i to i64
  %arrayidx9.i = getelementptr inbounds nuw i64, ptr %answer.i, i64 %idxprom8.i
  %10 = load i64, ptr %arrayidx9.i, align 8
  %rem.i = and i32 %9, 63
  %sh_prom.i = zext nneg i32 %rem.i to i64
  %shr.i = lshr i64 %10, %sh_prom.i
  %conv11.i = trunc i64 %shr.i to i32
  %mask.i = getelementptr inbounds nuw i8, ptr %arrayidx4.i, i64 12
  %11 = load i32, ptr %mask.i, align 4
  %and.i = and i32 %11, %conv11.i
  %cmp13.not.i = icmp eq i32 %and.i, %11
  call void @llvm.lifetime.end.p0(ptr nonnull %answer.i)
  br i1 %cmp13.not.i, label %for.cond.i, label %return

for.end.i:
  %12 = load i32, ptr @tfc_saved, align 4
  %cmp21.i = icmp eq i32 %12, 0
  br i1 %cmp21.i, label %if.end, label %fits.exit

fits.exit:
  %call23.i = tail call x86_64_sysvcc i32 @tfc_xgetbv()
  %and24.i = and i32 %call23.i, %12
  %cmp25.i.not = icmp eq i32 %and24.i, %12
  br i1 %cmp25.i.not, label %if.end, label %return

if.end:
  store atomic i8 1, ptr @tfc_checked_run.is_known monotonic, align 1
  br label %if.end3

if.end3:
  %call4 = tail call i32 @tfc_run(ptr noundef %arguments, ptr noundef %results, ptr noundef %arena)
  br label %return

return:
  %retval.0 = phi i32 [ %call4, %if.end3 ], [ 2, %fits.exit ], [ 2, %if.then ], [ 2, %for.body.i ]
  ret i32 %retval.0
}

declare i32 @tfc_run(ptr noundef, ptr noundef, ptr noundef)

declare x86_64_sysvcc { i64, i64 } @tfc_cpuid(i32 noundef, i32 noundef)

declare x86_64_sysvcc i32 @tfc_xgetbv()

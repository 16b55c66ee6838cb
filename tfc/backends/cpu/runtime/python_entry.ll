; python_entry.c as LLVM IR: made by regenerate.py with clang 22.1.8, not by hand.

%struct.object = type { i64, ptr }
%struct.anon = type { ptr, i64 }
%struct.found = type { ptr, i64, ptr }
%struct.node = type { i64, i64, ptr, ptr, ptr }
%struct.result = type { ptr, i64, ptr, i64 }
%struct.argument = type { i64, i64, ptr }

@.str = private constant [8 x i8] c"program\00", align 1
@tfc_method = constant { ptr, ptr, i32, [4 x i8], ptr } { ptr @.str, ptr @call, i32 128, [4 x i8] zeroinitializer, ptr null }, align 8
@_Py_NotImplementedStruct = external global %struct.object, align 8
@PyArray_Type = external global %struct.object, align 8
@OWNER = internal constant [10 x i8] c"tfc.block\00", align 1
@blocks = internal global [128 x %struct.anon] zeroinitializer, align 16
@bytes_kept = internal global i64 0, align 8
@tfc_huge_page_advice = external constant i32, align 4
@tfc_most_kept = external constant i64, align 8
@next_to_empty = internal global i64 0, align 8

define internal ptr @call(ptr noundef %self, ptr noundef readonly captures(none) %arguments, i64 noundef %count) {
entry:
  %found = alloca %struct.found, align 8
  %next = alloca ptr, align 8
  %call = tail call ptr @PyTuple_GetItem(ptr noundef %self, i64 noundef 0)
  %data = getelementptr inbounds nuw i8, ptr %call, i64 16
  %0 = load ptr, ptr %data, align 8
  %argument_count = getelementptr inbounds nuw i8, ptr %0, i64 40
  %1 = load i64, ptr %argument_count, align 8
  %cmp.not = icmp eq i64 %count, %1
  br i1 %cmp.not, label %lor.rhs, label %if.then

lor.rhs:
  %arena = getelementptr inbounds nuw i8, ptr %0, i64 24
  %2 = load ptr, ptr %arena, align 8
  %address = getelementptr inbounds nuw i8, ptr %2, i64 8
  %3 = load ptr, ptr %address, align 8
  %cmp2 = icmp eq ptr %3, null
  br i1 %cmp2, label %if.then, label %if.end

if.then:
  tail call void @Py_IncRef(ptr noundef nonnull @_Py_NotImplementedStruct)
  br label %cleanup94

if.end:
  call void @llvm.lifetime.start.p0(ptr nonnull %found)
  %leaf_count = getelementptr inbounds nuw i8, ptr %0, i64 56
  %4 = load i64, ptr %leaf_count, align 8
  %mul = shl i64 %4, 3
  %5 = alloca i8, i64 %mul, align 16
  store ptr %5, ptr %found, align 8
  %count5 = getelementptr inbounds nuw i8, ptr %found, i64 8
  store i64 0, ptr %count5, align 8
  %wanted = getelementptr inbounds nuw i8, ptr %found, i64 16
  %leaves = getelementptr inbounds nuw i8, ptr %0, i64 64
  %6 = load ptr, ptr %leaves, align 8
  store ptr %6, ptr %wanted, align 8
  %cmp6.not175 = icmp sgt i64 %count, 0
  br i1 %cmp6.not175, label %for.body.lr.ph, label %for.end

for.body.lr.ph:
  %argument_nodes = getelementptr inbounds nuw i8, ptr %0, i64 48
  br label %for.body

for.cond:
  %inc = add nuw nsw i64 %n.0176, 1
  %exitcond.not = icmp eq i64 %inc, %count
  br i1 %exitcond.not, label %for.end.loopexit, label %for.body

for.body:
  %n.0176 = phi i64 [ 0, %for.body.lr.ph ], [ %inc, %for.cond ]
  %7 = load ptr, ptr %argument_nodes, align 8
  %arrayidx = getelementptr inbounds nuw %struct.node, ptr %7, i64 %n.0176
  %arrayidx8 = getelementptr inbounds nuw ptr, ptr %arguments, i64 %n.0176
  %8 = load ptr, ptr %arrayidx8, align 8
  %call9 = call fastcc i32 @read(ptr noundef %arrayidx, ptr noundef %8, ptr noundef %found)
  %tobool10.not = icmp eq i32 %call9, 0
  br i1 %tobool10.not, label %if.then20, label %for.cond

if.then20:
  %9 = load ptr, ptr %found, align 8
  %10 = load i64, ptr %count5, align 8
  %cmp3.i = icmp sgt i64 %10, 0
  br i1 %cmp3.i, label %for.body.i, label %release.exit

for.body.i:
  %n.04.i = phi i64 [ %inc.i, %for.body.i ], [ 0, %if.then20 ]
  %arrayidx.i = getelementptr inbounds nuw ptr, ptr %9, i64 %n.04.i
  %11 = load ptr, ptr %arrayidx.i, align 8
  call void @Py_DecRef(ptr noundef %11)
  %inc.i = add nuw nsw i64 %n.04.i, 1
  %exitcond.not.i = icmp eq i64 %inc.i, %10
  br i1 %exitcond.not.i, label %release.exit, label %for.body.i

release.exit:
  call void @Py_IncRef(ptr noundef nonnull @_Py_NotImplementedStruct)
  br label %cleanup93

for.end.loopexit:
  %.pre = load i64, ptr %leaf_count, align 8
  %.pre194 = shl i64 %.pre, 3
  br label %for.end

for.end:
  %mul26.pre-phi = phi i64 [ %.pre194, %for.end.loopexit ], [ %mul, %if.end ]
  %12 = phi i64 [ %.pre, %for.end.loopexit ], [ %4, %if.end ]
  %13 = alloca i8, i64 %mul26.pre-phi, align 16
  %cmp30177 = icmp sgt i64 %12, 0
  br i1 %cmp30177, label %for.body33.lr.ph, label %for.cond.cleanup32

for.body33.lr.ph:
  %14 = load ptr, ptr %found, align 8
  br label %for.body33

for.cond.cleanup32:
  %result_count = getelementptr inbounds nuw i8, ptr %0, i64 72
  %15 = load i64, ptr %result_count, align 8
  %mul42 = shl i64 %15, 3
  %16 = alloca i8, i64 %mul42, align 16
  %17 = alloca i8, i64 %mul42, align 16
  %cmp43.i = icmp sgt i64 %15, 0
  br i1 %cmp43.i, label %for.body.lr.ph.i, label %if.then54

for.body.lr.ph.i:
  %results2.i = getelementptr inbounds nuw i8, ptr %0, i64 80
  br label %for.body.i123

for.body.i123:
  %n.044.i = phi i64 [ 0, %for.body.lr.ph.i ], [ %inc.i125, %if.end.i ]
  %18 = load ptr, ptr %results2.i, align 8
  %arrayidx.i124 = getelementptr inbounds nuw %struct.result, ptr %18, i64 %n.044.i
  %block.i.i = getelementptr inbounds nuw i8, ptr %arrayidx.i124, i64 24
  %19 = load i64, ptr %block.i.i, align 8
  %cmp.not.i.i = icmp eq i64 %19, 0
  br i1 %cmp.not.i.i, label %cond.false.i.i, label %cond.true.i.i

cond.true.i.i:
  %call.i.i.i = call fastcc ptr @take(i64 noundef %19)
  %cmp.i.i.i = icmp eq ptr %call.i.i.i, null
  br i1 %cmp.i.i.i, label %if.then.i.i.i, label %if.end.i.i.i

if.then.i.i.i:
  %call3.i.i.i = call ptr @PyErr_NoMemory()
  br label %new_array.exit.i

if.end.i.i.i:
  %call4.i.i.i = call fastcc ptr @array_at(ptr noundef nonnull readonly %arrayidx.i124, ptr noundef nonnull %call.i.i.i, i32 noundef 1281)
  %cmp5.i.i.i = icmp eq ptr %call4.i.i.i, null
  br i1 %cmp5.i.i.i, label %if.then14.i.i.i, label %if.end16.i.i.i

if.then14.i.i.i:
  %20 = load i64, ptr %block.i.i, align 8
  call fastcc void @give(ptr noundef nonnull %call.i.i.i, i64 noundef %20)
  br label %new_array.exit.thread.i

if.end16.i.i.i:
  %call17.i.i.i = call ptr @PyCapsule_New(ptr noundef nonnull %call.i.i.i, ptr noundef nonnull @OWNER, ptr noundef nonnull @release_block)
  %cmp18.i.i.i = icmp eq ptr %call17.i.i.i, null
  %21 = load i64, ptr %block.i.i, align 8
  br i1 %cmp18.i.i.i, label %if.then27.i.i.i, label %if.end29.i.i.i

if.then27.i.i.i:
  call fastcc void @give(ptr noundef nonnull %call.i.i.i, i64 noundef %21)
  call void @Py_DecRef(ptr noundef nonnull %call4.i.i.i)
  br label %new_array.exit.thread.i

if.end29.i.i.i:
  %22 = inttoptr i64 %21 to ptr
  %call31.i.i.i = call i32 @PyCapsule_SetContext(ptr noundef nonnull %call17.i.i.i, ptr noundef %22)
  %call32.i.i.i = call i32 @PyArray_SetBaseObject(ptr noundef nonnull %call4.i.i.i, ptr noundef nonnull %call17.i.i.i)
  %cmp33.not.i.i.i = icmp eq i32 %call32.i.i.i, 0
  br i1 %cmp33.not.i.i.i, label %new_array.exit.thread23.i, label %if.then42.i.i.i

new_array.exit.thread23.i:
  %arrayidx325.i = getelementptr inbounds nuw ptr, ptr %16, i64 %n.044.i
  store ptr %call4.i.i.i, ptr %arrayidx325.i, align 8
  br label %if.end.i

if.then42.i.i.i:
  call void @Py_DecRef(ptr noundef nonnull %call4.i.i.i)
  br label %new_array.exit.thread.i

cond.false.i.i:
  %call1.i.i = call fastcc ptr @array_at(ptr noundef nonnull readonly %arrayidx.i124, ptr noundef null, i32 noundef 0)
  br label %new_array.exit.i

new_array.exit.thread.i:
  %arrayidx321.i = getelementptr inbounds nuw ptr, ptr %16, i64 %n.044.i
  store ptr null, ptr %arrayidx321.i, align 8
  br label %if.then.i

new_array.exit.i:
  %cond.i.i = phi ptr [ %call1.i.i, %cond.false.i.i ], [ %call3.i.i.i, %if.then.i.i.i ]
  %arrayidx3.i = getelementptr inbounds nuw ptr, ptr %16, i64 %n.044.i
  store ptr %cond.i.i, ptr %arrayidx3.i, align 8
  %cmp5.i = icmp eq ptr %cond.i.i, null
  br i1 %cmp5.i, label %if.then.i, label %if.end.i

if.then.i:
  %cmp3.i.not.i = icmp eq i64 %n.044.i, 0
  br i1 %cmp3.i.not.i, label %make_results.exit, label %for.body.i.i

for.body.i.i:
  %n.04.i.i = phi i64 [ %inc.i.i, %for.body.i.i ], [ 0, %if.then.i ]
  %arrayidx.i.i = getelementptr inbounds nuw ptr, ptr %16, i64 %n.04.i.i
  %23 = load ptr, ptr %arrayidx.i.i, align 8
  call void @Py_DecRef(ptr noundef %23)
  %inc.i.i = add nuw nsw i64 %n.04.i.i, 1
  %exitcond.not.i.i = icmp eq i64 %inc.i.i, %n.044.i
  br i1 %exitcond.not.i.i, label %make_results.exit, label %for.body.i.i

if.end.i:
  %cond.i27.i = phi ptr [ %call4.i.i.i, %new_array.exit.thread23.i ], [ %cond.i.i, %new_array.exit.i ]
  %data.i = getelementptr inbounds nuw i8, ptr %cond.i27.i, i64 16
  %24 = load ptr, ptr %data.i, align 8
  %arrayidx8.i = getelementptr inbounds nuw ptr, ptr %17, i64 %n.044.i
  store ptr %24, ptr %arrayidx8.i, align 8
  %inc.i125 = add nuw nsw i64 %n.044.i, 1
  %25 = load i64, ptr %result_count, align 8
  %cmp.i = icmp slt i64 %inc.i125, %25
  br i1 %cmp.i, label %for.body.i123, label %if.then54

make_results.exit:
  call void @PyErr_Clear()
  br label %if.then82.critedge

for.body33:
  %n27.0178 = phi i64 [ 0, %for.body33.lr.ph ], [ %inc39, %for.body33 ]
  %arrayidx35 = getelementptr inbounds nuw ptr, ptr %14, i64 %n27.0178
  %26 = load ptr, ptr %arrayidx35, align 8
  %data36 = getelementptr inbounds nuw i8, ptr %26, i64 16
  %27 = load ptr, ptr %data36, align 8
  %arrayidx37 = getelementptr inbounds nuw ptr, ptr %13, i64 %n27.0178
  store ptr %27, ptr %arrayidx37, align 8
  %inc39 = add nuw nsw i64 %n27.0178, 1
  %cmp30 = icmp slt i64 %inc39, %12
  br i1 %cmp30, label %for.body33, label %for.cond.cleanup32

if.then54:
  %28 = load ptr, ptr %arena, align 8
  %29 = load ptr, ptr %28, align 8
  store ptr null, ptr %28, align 8
  %cmp.i126 = icmp eq ptr %29, null
  br i1 %cmp.i126, label %if.then.i128, label %if.end16.i

if.then.i128:
  %arena_size.i = getelementptr inbounds nuw i8, ptr %0, i64 32
  %30 = load i64, ptr %arena_size.i, align 8
  %call.i = call fastcc ptr @take(i64 noundef %30)
  %cmp6.i = icmp eq ptr %call.i, null
  br i1 %cmp6.i, label %if.then66, label %if.end16.i

if.end16.i:
  %arena.0.i = phi ptr [ %call.i, %if.then.i128 ], [ %29, %if.then54 ]
  %is_long.i = getelementptr inbounds nuw i8, ptr %0, i64 96
  %31 = load i64, ptr %is_long.i, align 8
  %tobool17.not.i = icmp eq i64 %31, 0
  br i1 %tobool17.not.i, label %if.else.i, label %if.then18.i

if.then18.i:
  %call19.i = call ptr @PyEval_SaveThread()
  %32 = load ptr, ptr %0, align 8
  %program.i = getelementptr inbounds nuw i8, ptr %0, i64 8
  %33 = load ptr, ptr %program.i, align 8
  %context.i = getelementptr inbounds nuw i8, ptr %0, i64 16
  %34 = load ptr, ptr %context.i, align 8
  %call20.i = call i32 %32(ptr noundef %33, ptr noundef %34, ptr noundef nonnull %13, ptr noundef nonnull %17, ptr noundef nonnull %arena.0.i)
  call void @PyEval_RestoreThread(ptr noundef %call19.i)
  br label %if.end25.i

if.else.i:
  %35 = load ptr, ptr %0, align 8
  %program22.i = getelementptr inbounds nuw i8, ptr %0, i64 8
  %36 = load ptr, ptr %program22.i, align 8
  %context23.i = getelementptr inbounds nuw i8, ptr %0, i64 16
  %37 = load ptr, ptr %context23.i, align 8
  %call24.i = call i32 %35(ptr noundef %36, ptr noundef %37, ptr noundef nonnull %13, ptr noundef nonnull %17, ptr noundef nonnull %arena.0.i)
  br label %if.end25.i

if.end25.i:
  %38 = load ptr, ptr %arena, align 8
  %address.i = getelementptr inbounds nuw i8, ptr %38, i64 8
  %39 = load ptr, ptr %address.i, align 8
  %cmp27.i = icmp eq ptr %arena.0.i, %39
  br i1 %cmp27.i, label %if.then29.i, label %if.else32.i

if.then29.i:
  store ptr %arena.0.i, ptr %38, align 8
  br label %if.end69

if.else32.i:
  %arena_size33.i = getelementptr inbounds nuw i8, ptr %0, i64 32
  %40 = load i64, ptr %arena_size33.i, align 8
  call fastcc void @give(ptr noundef nonnull %arena.0.i, i64 noundef %40)
  br label %if.end69

if.then66:
  %41 = load i64, ptr %result_count, align 8
  %cmp3.i129 = icmp sgt i64 %41, 0
  br i1 %cmp3.i129, label %for.body.i130, label %if.then82.critedge

for.body.i130:
  %n.04.i131 = phi i64 [ %inc.i133, %for.body.i130 ], [ 0, %if.then66 ]
  %arrayidx.i132 = getelementptr inbounds nuw ptr, ptr %16, i64 %n.04.i131
  %42 = load ptr, ptr %arrayidx.i132, align 8
  call void @Py_DecRef(ptr noundef %42)
  %inc.i133 = add nuw nsw i64 %n.04.i131, 1
  %exitcond.not.i134 = icmp eq i64 %inc.i133, %41
  br i1 %exitcond.not.i134, label %if.then82.critedge, label %for.body.i130

if.end69:
  %43 = load ptr, ptr %found, align 8
  %44 = load i64, ptr %leaf_count, align 8
  %cmp3.i136 = icmp sgt i64 %44, 0
  br i1 %cmp3.i136, label %for.body.i137, label %release.exit142

for.body.i137:
  %n.04.i138 = phi i64 [ %inc.i140, %for.body.i137 ], [ 0, %if.end69 ]
  %arrayidx.i139 = getelementptr inbounds nuw ptr, ptr %43, i64 %n.04.i138
  %45 = load ptr, ptr %arrayidx.i139, align 8
  call void @Py_DecRef(ptr noundef %45)
  %inc.i140 = add nuw nsw i64 %n.04.i138, 1
  %exitcond.not.i141 = icmp eq i64 %inc.i140, %44
  br i1 %exitcond.not.i141, label %release.exit142, label %for.body.i137

release.exit142:
  call void @llvm.lifetime.start.p0(ptr nonnull %next)
  store ptr %16, ptr %next, align 8
  %result_node = getelementptr inbounds nuw i8, ptr %0, i64 88
  %46 = load ptr, ptr %result_node, align 8
  %call85 = call fastcc ptr @build(ptr noundef %46, ptr noundef %next)
  %47 = load i64, ptr %result_count, align 8
  %cmp3.i143 = icmp sgt i64 %47, 0
  br i1 %cmp3.i143, label %for.body.i144, label %release.exit149

for.body.i144:
  %n.04.i145 = phi i64 [ %inc.i147, %for.body.i144 ], [ 0, %release.exit142 ]
  %arrayidx.i146 = getelementptr inbounds nuw ptr, ptr %16, i64 %n.04.i145
  %48 = load ptr, ptr %arrayidx.i146, align 8
  call void @Py_DecRef(ptr noundef %48)
  %inc.i147 = add nuw nsw i64 %n.04.i145, 1
  %exitcond.not.i148 = icmp eq i64 %inc.i147, %47
  br i1 %exitcond.not.i148, label %release.exit149, label %for.body.i144

release.exit149:
  call void @llvm.lifetime.end.p0(ptr nonnull %next)
  br label %cleanup93

if.then82.critedge:
  %49 = load ptr, ptr %found, align 8
  %50 = load i64, ptr %leaf_count, align 8
  %cmp3.i150 = icmp sgt i64 %50, 0
  br i1 %cmp3.i150, label %for.body.i151, label %release.exit156

for.body.i151:
  %n.04.i152 = phi i64 [ %inc.i154, %for.body.i151 ], [ 0, %if.then82.critedge ]
  %arrayidx.i153 = getelementptr inbounds nuw ptr, ptr %49, i64 %n.04.i152
  %51 = load ptr, ptr %arrayidx.i153, align 8
  call void @Py_DecRef(ptr noundef %51)
  %inc.i154 = add nuw nsw i64 %n.04.i152, 1
  %exitcond.not.i155 = icmp eq i64 %inc.i154, %50
  br i1 %exitcond.not.i155, label %release.exit156, label %for.body.i151

release.exit156:
  call void @Py_IncRef(ptr noundef nonnull @_Py_NotImplementedStruct)
  br label %cleanup93

cleanup93:
  %retval.2 = phi ptr [ @_Py_NotImplementedStruct, %release.exit ], [ @_Py_NotImplementedStruct, %release.exit156 ], [ %call85, %release.exit149 ]
  call void @llvm.lifetime.end.p0(ptr nonnull %found)
  br label %cleanup94

cleanup94:
  %retval.3 = phi ptr [ @_Py_NotImplementedStruct, %if.then ], [ %retval.2, %cleanup93 ]
  ret ptr %retval.3
}

declare ptr @PyTuple_GetItem(ptr noundef, i64 noundef)

define internal fastcc range(i32 0, 2) i32 @read(ptr noundef readonly captures(none) %node, ptr noundef %given, ptr noundef nonnull captures(none) %found) {
entry:
  %0 = load i64, ptr %node, align 8
  switch i64 %0, label %if.end8 [
    i64 0, label %if.then
    i64 1, label %if.then5
  ]

if.then:
  %type.i = getelementptr inbounds nuw i8, ptr %given, i64 8
  %1 = load ptr, ptr %type.i, align 8
  %cmp.not.i = icmp eq ptr %1, @PyArray_Type
  br i1 %cmp.not.i, label %if.end.i, label %return

if.end.i:
  %wanted2.i = getelementptr inbounds nuw i8, ptr %found, i64 16
  %2 = load ptr, ptr %wanted2.i, align 8
  %count.i = getelementptr inbounds nuw i8, ptr %found, i64 8
  %3 = load i64, ptr %count.i, align 8
  %arrayidx.i = getelementptr inbounds %struct.argument, ptr %2, i64 %3
  %dtype.i = getelementptr inbounds nuw i8, ptr %given, i64 56
  %4 = load ptr, ptr %dtype.i, align 8
  %identity.i = getelementptr inbounds nuw i8, ptr %4, i64 24
  %5 = load i64, ptr %identity.i, align 8
  %6 = load i64, ptr %arrayidx.i, align 8
  %cmp4.not.i = icmp eq i64 %5, %6
  br i1 %cmp4.not.i, label %lor.lhs.false.i, label %return

lor.lhs.false.i:
  %flags.i = getelementptr inbounds nuw i8, ptr %given, i64 64
  %7 = load i32, ptr %flags.i, align 8
  %and.i = and i32 %7, 257
  %cmp6.not.i = icmp eq i32 %and.i, 257
  br i1 %cmp6.not.i, label %lor.rhs.i, label %return

lor.rhs.i:
  %rank.i = getelementptr inbounds nuw i8, ptr %given, i64 24
  %8 = load i32, ptr %rank.i, align 8
  %conv8.i = sext i32 %8 to i64
  %rank9.i = getelementptr inbounds nuw i8, ptr %arrayidx.i, i64 8
  %9 = load i64, ptr %rank9.i, align 8
  %cmp10.not.i = icmp eq i64 %9, %conv8.i
  br i1 %cmp10.not.i, label %for.cond.preheader.i, label %return

for.cond.preheader.i:
  %cmp22.not60.i = icmp sgt i32 %8, 0
  br i1 %cmp22.not60.i, label %for.body.lr.ph.i, label %for.end.i

for.body.lr.ph.i:
  %dims.i = getelementptr inbounds nuw i8, ptr %given, i64 32
  %10 = load ptr, ptr %dims.i, align 8
  %dims25.i = getelementptr inbounds nuw i8, ptr %arrayidx.i, i64 16
  %11 = load ptr, ptr %dims25.i, align 8
  br label %for.body.i

for.cond.i:
  %inc.i = add nuw nsw i64 %n.061.i, 1
  %exitcond.not.i = icmp eq i64 %inc.i, %conv8.i
  br i1 %exitcond.not.i, label %for.end.i, label %for.body.i

for.body.i:
  %n.061.i = phi i64 [ 0, %for.body.lr.ph.i ], [ %inc.i, %for.cond.i ]
  %arrayidx24.i = getelementptr inbounds nuw i64, ptr %10, i64 %n.061.i
  %12 = load i64, ptr %arrayidx24.i, align 8
  %arrayidx26.i = getelementptr inbounds nuw i64, ptr %11, i64 %n.061.i
  %13 = load i64, ptr %arrayidx26.i, align 8
  %cmp27.not.i = icmp eq i64 %12, %13
  br i1 %cmp27.not.i, label %for.cond.i, label %return

for.end.i:
  tail call void @Py_IncRef(ptr noundef nonnull %given)
  %14 = load ptr, ptr %found, align 8
  %15 = load i64, ptr %count.i, align 8
  %inc39.i = add nsw i64 %15, 1
  store i64 %inc39.i, ptr %count.i, align 8
  %arrayidx40.i = getelementptr inbounds ptr, ptr %14, i64 %15
  store ptr %given, ptr %arrayidx40.i, align 8
  br label %return

if.then5:
  %object = getelementptr inbounds nuw i8, ptr %node, i64 16
  %16 = load ptr, ptr %object, align 8
  %cmp6 = icmp eq ptr %given, %16
  %conv7 = zext i1 %cmp6 to i32
  br label %return

if.end8:
  %type = getelementptr inbounds nuw i8, ptr %given, i64 8
  %17 = load ptr, ptr %type, align 8
  %object9 = getelementptr inbounds nuw i8, ptr %node, i64 16
  %18 = load ptr, ptr %object9, align 8
  %cmp10.not = icmp eq ptr %17, %18
  br i1 %cmp10.not, label %lor.lhs.false, label %return

lor.lhs.false:
  %call13 = tail call fastcc i64 @size_of(i64 noundef %0, ptr noundef nonnull %given)
  %count = getelementptr inbounds nuw i8, ptr %node, i64 8
  %19 = load i64, ptr %count, align 8
  %cmp14.not = icmp eq i64 %call13, %19
  br i1 %cmp14.not, label %for.cond.preheader, label %return

for.cond.preheader:
  %cmp1955 = icmp sgt i64 %call13, 0
  br i1 %cmp1955, label %for.body.lr.ph, label %return

for.body.lr.ph:
  %children = getelementptr inbounds nuw i8, ptr %node, i64 32
  br label %for.body

for.cond:
  %inc = add nuw nsw i64 %place.056, 1
  %20 = load i64, ptr %count, align 8
  %cmp19 = icmp slt i64 %inc, %20
  br i1 %cmp19, label %for.body, label %return

for.body:
  %place.056 = phi i64 [ 0, %for.body.lr.ph ], [ %inc, %for.cond ]
  %call21 = tail call fastcc ptr @child_of(ptr noundef nonnull %node, ptr noundef nonnull %given, i64 noundef %place.056)
  %cmp22 = icmp eq ptr %call21, null
  br i1 %cmp22, label %return, label %if.end25

if.end25:
  tail call void @Py_IncRef(ptr noundef nonnull %call21)
  %21 = load ptr, ptr %children, align 8
  %arrayidx = getelementptr inbounds nuw %struct.node, ptr %21, i64 %place.056
  %call26 = tail call fastcc i32 @read(ptr noundef %arrayidx, ptr noundef nonnull %call21, ptr noundef %found)
  tail call void @Py_DecRef(ptr noundef nonnull %call21)
  %tobool27.not.not = icmp eq i32 %call26, 0
  br i1 %tobool27.not.not, label %return, label %for.cond

return:
  %retval.4 = phi i32 [ 0, %lor.lhs.false ], [ %conv7, %if.then5 ], [ 0, %for.body ], [ 0, %if.end8 ], [ 0, %if.then ], [ 0, %lor.lhs.false.i ], [ 1, %for.end.i ], [ 0, %lor.rhs.i ], [ 0, %if.end.i ], [ 1, %for.cond.preheader ], [ 0, %if.end25 ], [ 1, %for.cond ], [ 0, %for.body.i ]
  ret i32 %retval.4
}

define internal fastcc ptr @build(ptr noundef readonly captures(none) %node, ptr noundef nonnull captures(none) %next) {
entry:
  %0 = load i64, ptr %node, align 8
  switch i64 %0, label %sw.default.i [
    i64 0, label %if.then
    i64 1, label %if.then3
    i64 3, label %sw.bb.i
    i64 4, label %sw.bb1.i
  ]

if.then:
  %1 = load ptr, ptr %next, align 8
  %2 = load ptr, ptr %1, align 8
  %incdec.ptr = getelementptr inbounds nuw i8, ptr %1, i64 8
  store ptr %incdec.ptr, ptr %next, align 8
  store ptr null, ptr %1, align 8
  br label %return

if.then3:
  %object = getelementptr inbounds nuw i8, ptr %node, i64 16
  %3 = load ptr, ptr %object, align 8
  tail call void @Py_IncRef(ptr noundef %3)
  %4 = load ptr, ptr %object, align 8
  br label %return

sw.bb.i:
  %count.i = getelementptr inbounds nuw i8, ptr %node, i64 8
  %5 = load i64, ptr %count.i, align 8
  %call.i = tail call ptr @PyList_New(i64 noundef %5)
  br label %new_container.exit

sw.bb1.i:
  %call2.i = tail call ptr @PyDict_New()
  br label %new_container.exit

sw.default.i:
  %count3.i = getelementptr inbounds nuw i8, ptr %node, i64 8
  %6 = load i64, ptr %count3.i, align 8
  %call4.i = tail call ptr @PyTuple_New(i64 noundef %6)
  br label %new_container.exit

new_container.exit:
  %retval.0.i = phi ptr [ %call4.i, %sw.default.i ], [ %call.i, %sw.bb.i ], [ %call2.i, %sw.bb1.i ]
  %cmp6 = icmp eq ptr %retval.0.i, null
  br i1 %cmp6, label %return, label %for.cond.preheader

for.cond.preheader:
  %count = getelementptr inbounds nuw i8, ptr %node, i64 8
  %7 = load i64, ptr %count, align 8
  %cmp10.not64 = icmp sgt i64 %7, 0
  br i1 %cmp10.not64, label %for.body.lr.ph, label %for.end

for.body.lr.ph:
  %children = getelementptr inbounds nuw i8, ptr %node, i64 32
  %keys.i = getelementptr inbounds nuw i8, ptr %node, i64 24
  br label %for.body

for.cond:
  %inc = add nuw nsw i64 %place.065, 1
  %8 = load i64, ptr %count, align 8
  %cmp10.not = icmp slt i64 %inc, %8
  br i1 %cmp10.not, label %for.body, label %for.end

for.body:
  %place.065 = phi i64 [ 0, %for.body.lr.ph ], [ %inc, %for.cond ]
  %9 = load ptr, ptr %children, align 8
  %arrayidx = getelementptr inbounds nuw %struct.node, ptr %9, i64 %place.065
  %call12 = tail call fastcc ptr @build(ptr noundef %arrayidx, ptr noundef %next)
  %cmp13 = icmp eq ptr %call12, null
  br i1 %cmp13, label %if.then25, label %lor.rhs

lor.rhs:
  %10 = load i64, ptr %node, align 8
  switch i64 %10, label %sw.default.i63 [
    i64 3, label %sw.bb.i61
    i64 4, label %sw.bb2.i
  ]

sw.bb.i61:
  %call.i62 = tail call i32 @PyList_SetItem(ptr noundef nonnull %retval.0.i, i64 noundef %place.065, ptr noundef nonnull %call12)
  br label %put_child.exit

sw.default.i63:
  %call1.i = tail call i32 @PyTuple_SetItem(ptr noundef nonnull %retval.0.i, i64 noundef %place.065, ptr noundef nonnull %call12)
  br label %put_child.exit

sw.bb2.i:
  %11 = load ptr, ptr %keys.i, align 8
  %arrayidx.i = getelementptr inbounds nuw ptr, ptr %11, i64 %place.065
  %12 = load ptr, ptr %arrayidx.i, align 8
  %call3.i = tail call i32 @PyDict_SetItem(ptr noundef nonnull %retval.0.i, ptr noundef %12, ptr noundef nonnull %call12)
  tail call void @Py_DecRef(ptr noundef nonnull %call12)
  br label %put_child.exit

put_child.exit:
  %retval.0.i60 = phi i32 [ %call1.i, %sw.default.i63 ], [ %call.i62, %sw.bb.i61 ], [ %call3.i, %sw.bb2.i ]
  %cmp16.not = icmp eq i32 %retval.0.i60, 0
  br i1 %cmp16.not, label %for.cond, label %if.then25

if.then25:
  tail call void @Py_DecRef(ptr noundef nonnull %retval.0.i)
  br label %return

for.end:
  %13 = load i64, ptr %node, align 8
  %cmp30.not = icmp eq i64 %13, 5
  br i1 %cmp30.not, label %if.end33, label %return

if.end33:
  %object34 = getelementptr inbounds nuw i8, ptr %node, i64 16
  %14 = load ptr, ptr %object34, align 8
  %call35 = tail call ptr @PyObject_CallObject(ptr noundef %14, ptr noundef nonnull %retval.0.i)
  tail call void @Py_DecRef(ptr noundef nonnull %retval.0.i)
  br label %return

return:
  %retval.4 = phi ptr [ %2, %if.then ], [ %4, %if.then3 ], [ null, %if.then25 ], [ null, %new_container.exit ], [ %call35, %if.end33 ], [ %retval.0.i, %for.end ]
  ret ptr %retval.4
}

declare void @Py_IncRef(ptr noundef)

define internal fastcc i64 @size_of(i64 noundef range(i64 2, 0) %kind, ptr noundef %container) {
entry:
  switch i64 %kind, label %sw.default [
    i64 2, label %sw.bb
    i64 3, label %sw.bb1
  ]

sw.bb:
  %call = tail call i64 @PyTuple_Size(ptr noundef %container)
  br label %return

sw.bb1:
  %call2 = tail call i64 @PyList_Size(ptr noundef %container)
  br label %return

sw.default:
  %call3 = tail call i64 @PyDict_Size(ptr noundef %container)
  br label %return

return:
  %retval.0 = phi i64 [ %call3, %sw.default ], [ %call, %sw.bb ], [ %call2, %sw.bb1 ]
  ret i64 %retval.0
}

define internal fastcc ptr @child_of(ptr noundef readonly captures(none) %node, ptr noundef %container, i64 noundef %place) {
entry:
  %0 = load i64, ptr %node, align 8
  switch i64 %0, label %sw.epilog [
    i64 2, label %sw.bb
    i64 3, label %sw.bb1
  ]

sw.bb:
  %call = tail call ptr @PyTuple_GetItem(ptr noundef %container, i64 noundef %place)
  br label %return

sw.bb1:
  %call2 = tail call ptr @PyList_GetItem(ptr noundef %container, i64 noundef %place)
  br label %return

sw.epilog:
  %keys = getelementptr inbounds nuw i8, ptr %node, i64 24
  %1 = load ptr, ptr %keys, align 8
  %arrayidx = getelementptr inbounds ptr, ptr %1, i64 %place
  %2 = load ptr, ptr %arrayidx, align 8
  %call3 = tail call ptr @PyDict_GetItemWithError(ptr noundef %container, ptr noundef %2)
  %cmp = icmp eq ptr %call3, null
  br i1 %cmp, label %if.then, label %return

if.then:
  tail call void @PyErr_Clear()
  br label %return

return:
  %retval.0 = phi ptr [ %call2, %sw.bb1 ], [ %call, %sw.bb ], [ null, %if.then ], [ %call3, %sw.epilog ]
  ret ptr %retval.0
}

declare void @Py_DecRef(ptr noundef)

declare i64 @PyTuple_Size(ptr noundef)

declare i64 @PyList_Size(ptr noundef)

declare i64 @PyDict_Size(ptr noundef)

declare ptr @PyList_GetItem(ptr noundef, i64 noundef)

declare ptr @PyDict_GetItemWithError(ptr noundef, ptr noundef)

declare void @PyErr_Clear()

define internal fastcc ptr @array_at(ptr noundef readonly captures(none) %result, ptr noundef %data, i32 noundef range(i32 0, 1282) %flags) {
entry:
  %0 = load ptr, ptr %result, align 8
  tail call void @Py_IncRef(ptr noundef %0)
  %1 = load ptr, ptr %result, align 8
  %rank = getelementptr inbounds nuw i8, ptr %result, i64 8
  %2 = load i64, ptr %rank, align 8
  %conv = trunc i64 %2 to i32
  %dims = getelementptr inbounds nuw i8, ptr %result, i64 16
  %3 = load ptr, ptr %dims, align 8
  %call = tail call ptr @PyArray_NewFromDescr(ptr noundef nonnull @PyArray_Type, ptr noundef %1, i32 noundef %conv, ptr noundef %3, ptr noundef null, ptr noundef %data, i32 noundef %flags, ptr noundef null)
  ret ptr %call
}

define internal fastcc ptr @take(i64 noundef %bytes) {
entry:
  br label %for.body

for.cond:
  %inc = add nuw nsw i64 %place.044, 1
  %exitcond.not = icmp eq i64 %inc, 128
  br i1 %exitcond.not, label %for.end, label %for.body

for.body:
  %place.044 = phi i64 [ 0, %entry ], [ %inc, %for.cond ]
  %arrayidx = getelementptr inbounds nuw %struct.anon, ptr @blocks, i64 %place.044
  %size = getelementptr inbounds nuw i8, ptr %arrayidx, i64 8
  %0 = load i64, ptr %size, align 8
  %cmp1 = icmp eq i64 %0, %bytes
  br i1 %cmp1, label %cleanup, label %for.cond

cleanup:
  %size.le = getelementptr inbounds nuw i8, ptr %arrayidx, i64 8
  %1 = load ptr, ptr %arrayidx, align 16
  %2 = load i64, ptr @bytes_kept, align 8
  %sub = sub nsw i64 %2, %bytes
  store i64 %sub, ptr @bytes_kept, align 8
  store ptr null, ptr %arrayidx, align 16
  store i64 0, ptr %size.le, align 8
  br label %return

for.end:
  %call = tail call fastcc ptr @allocate(i64 noundef %bytes)
  %cmp7.not = icmp eq ptr %call, null
  br i1 %cmp7.not, label %for.body16, label %return

for.cond.cleanup15:
  %call27 = tail call fastcc ptr @allocate(i64 noundef %bytes)
  br label %return

for.body16:
  %place11.045 = phi i64 [ %inc24, %for.inc23 ], [ 0, %for.end ]
  %arrayidx17 = getelementptr inbounds nuw %struct.anon, ptr @blocks, i64 %place11.045
  %size18 = getelementptr inbounds nuw i8, ptr %arrayidx17, i64 8
  %3 = load i64, ptr %size18, align 8
  %cmp19.not = icmp eq i64 %3, 0
  br i1 %cmp19.not, label %for.inc23, label %if.then21

if.then21:
  %4 = load ptr, ptr %arrayidx17, align 16
  tail call void @free(ptr noundef %4)
  %5 = load i64, ptr %size18, align 8
  %6 = load i64, ptr @bytes_kept, align 8
  %sub.i = sub nsw i64 %6, %5
  store i64 %sub.i, ptr @bytes_kept, align 8
  store ptr null, ptr %arrayidx17, align 16
  store i64 0, ptr %size18, align 8
  br label %for.inc23

for.inc23:
  %inc24 = add nuw nsw i64 %place11.045, 1
  %exitcond47.not = icmp eq i64 %inc24, 128
  br i1 %exitcond47.not, label %for.cond.cleanup15, label %for.body16

return:
  %retval.2 = phi ptr [ %1, %cleanup ], [ %call27, %for.cond.cleanup15 ], [ %call, %for.end ]
  ret ptr %retval.2
}

declare ptr @PyErr_NoMemory()

define internal fastcc void @give(ptr noundef %block, i64 noundef %bytes) {
entry:
  %0 = load i64, ptr @tfc_most_kept, align 8
  %cmp = icmp sgt i64 %bytes, %0
  br i1 %cmp, label %if.then, label %for.cond.preheader

for.cond.preheader:
  %.pre = load i64, ptr @bytes_kept, align 8
  br label %for.cond

if.then:
  tail call void @free(ptr noundef %block)
  br label %return

for.cond:
  %1 = phi i64 [ %.pre, %for.cond.preheader ], [ %sub.i, %for.end ]
  %add = add nsw i64 %1, %bytes
  %cmp4.not = icmp sgt i64 %add, %0
  br label %for.body

for.body:
  %place.021 = phi i64 [ 0, %for.cond ], [ %inc, %for.inc ]
  %arrayidx = getelementptr inbounds nuw %struct.anon, ptr @blocks, i64 %place.021
  %2 = load ptr, ptr %arrayidx, align 16
  %cmp3 = icmp ne ptr %2, null
  %brmerge = select i1 %cmp3, i1 true, i1 %cmp4.not
  br i1 %brmerge, label %for.inc, label %cleanup

for.inc:
  %inc = add nuw nsw i64 %place.021, 1
  %exitcond.not = icmp eq i64 %inc, 128
  br i1 %exitcond.not, label %for.end, label %for.body

cleanup:
  store ptr %block, ptr %arrayidx, align 16
  %size = getelementptr inbounds nuw i8, ptr %arrayidx, i64 8
  store i64 %bytes, ptr %size, align 8
  store i64 %add, ptr @bytes_kept, align 8
  br label %return

for.end:
  %3 = load i64, ptr @next_to_empty, align 8
  %arrayidx.i = getelementptr inbounds %struct.anon, ptr @blocks, i64 %3
  %4 = load ptr, ptr %arrayidx.i, align 16
  tail call void @free(ptr noundef %4)
  %size.i = getelementptr inbounds nuw i8, ptr %arrayidx.i, i64 8
  %5 = load i64, ptr %size.i, align 8
  %6 = load i64, ptr @bytes_kept, align 8
  %sub.i = sub nsw i64 %6, %5
  store i64 %sub.i, ptr @bytes_kept, align 8
  store ptr null, ptr %arrayidx.i, align 16
  store i64 0, ptr %size.i, align 8
  %7 = load i64, ptr @next_to_empty, align 8
  %add11 = add nsw i64 %7, 1
  %rem = srem i64 %add11, 128
  store i64 %rem, ptr @next_to_empty, align 8
  br label %for.cond

return:
  ret void
}

declare ptr @PyCapsule_New(ptr noundef, ptr noundef, ptr noundef)

define internal void @release_block(ptr noundef %owner) {
entry:
  %call = tail call ptr @PyCapsule_GetPointer(ptr noundef %owner, ptr noundef nonnull @OWNER)
  %call1 = tail call ptr @PyCapsule_GetContext(ptr noundef %owner)
  %0 = ptrtoint ptr %call1 to i64
  tail call fastcc void @give(ptr noundef %call, i64 noundef %0)
  ret void
}

declare i32 @PyCapsule_SetContext(ptr noundef, ptr noundef)

declare i32 @PyArray_SetBaseObject(ptr noundef, ptr noundef)

define internal fastcc ptr @allocate(i64 noundef %bytes) {
entry:
  %made = alloca ptr, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %made)
  %cmp = icmp sgt i64 %bytes, 4194303
  %conv1 = select i1 %cmp, i64 2097152, i64 64
  %call = call i32 @posix_memalign(ptr noundef nonnull %made, i64 noundef %conv1, i64 noundef %bytes)
  %cmp2.not = icmp eq i32 %call, 0
  br i1 %cmp2.not, label %if.end, label %cleanup

if.end:
  %0 = load i32, ptr @tfc_huge_page_advice, align 4
  %tobool8 = icmp ne i32 %0, 0
  %or.cond = select i1 %cmp, i1 %tobool8, i1 false
  br i1 %or.cond, label %if.then9, label %if.end11

if.then9:
  %1 = load ptr, ptr %made, align 8
  %call10 = call i32 @madvise(ptr noundef %1, i64 noundef %bytes, i32 noundef %0)
  br label %if.end11

if.end11:
  %2 = load ptr, ptr %made, align 8
  br label %cleanup

cleanup:
  %retval.0 = phi ptr [ %2, %if.end11 ], [ null, %entry ]
  call void @llvm.lifetime.end.p0(ptr nonnull %made)
  ret ptr %retval.0
}

declare i32 @posix_memalign(ptr noundef, i64 noundef, i64 noundef)

declare i32 @madvise(ptr noundef, i64 noundef, i32 noundef)

declare void @free(ptr noundef)

declare ptr @PyCapsule_GetPointer(ptr noundef, ptr noundef)

declare ptr @PyCapsule_GetContext(ptr noundef)

declare ptr @PyArray_NewFromDescr(ptr noundef, ptr noundef, i32 noundef, ptr noundef, ptr noundef, ptr noundef, i32 noundef, ptr noundef)

declare ptr @PyEval_SaveThread()

declare void @PyEval_RestoreThread(ptr noundef)

declare ptr @PyObject_CallObject(ptr noundef, ptr noundef)

declare ptr @PyList_New(i64 noundef)

declare ptr @PyDict_New()

declare ptr @PyTuple_New(i64 noundef)

declare i32 @PyList_SetItem(ptr noundef, i64 noundef, ptr noundef)

declare i32 @PyTuple_SetItem(ptr noundef, i64 noundef, ptr noundef)

declare i32 @PyDict_SetItem(ptr noundef, ptr noundef, ptr noundef)

; python_entry.c as LLVM IR: made by regenerate.py with clang 22.1.8, not by hand.

%struct.object = type { i64, ptr }
%struct.anon = type { ptr, i64 }
%struct.found = type { ptr, ptr, ptr, i64, ptr }
%struct.node = type { i64, i64, ptr, ptr, ptr }
%struct.result = type { ptr, i64, ptr, i64 }
%struct.argument = type { i64, i64, ptr, i64, ptr }

@.str = private constant [8 x i8] c"program\00", align 1
@tfc_method = constant { ptr, ptr, i32, [4 x i8], ptr } { ptr @.str, ptr @call, i32 130, [4 x i8] zeroinitializer, ptr null }, align 8
@_Py_NotImplementedStruct = external global %struct.object, align 8
@PyArray_Type = external global %struct.object, align 8
@PyFloat_Type = external global %struct.object, align 8
@_Py_TrueStruct = external global %struct.object, align 8
@PyBool_Type = external global %struct.object, align 8
@PyLong_Type = external global %struct.object, align 8
@OWNER = internal constant [10 x i8] c"tfc.block\00", align 1
@blocks = internal global [128 x %struct.anon] zeroinitializer, align 16
@bytes_kept = internal global i64 0, align 8
@tfc_huge_page_advice = external constant i32, align 4
@tfc_most_kept = external constant i64, align 8
@next_to_empty = internal global i64 0, align 8

define internal ptr @call(ptr noundef %self, ptr noundef readonly captures(none) %arguments, i64 noundef %count, ptr noundef %names) {
entry:
  %found = alloca %struct.found, align 8
  %next = alloca ptr, align 8
  %call = tail call ptr @PyTuple_GetItem(ptr noundef %self, i64 noundef 0)
  %data = getelementptr inbounds nuw i8, ptr %call, i64 16
  %0 = load ptr, ptr %data, align 8
  %arena = getelementptr inbounds nuw i8, ptr %0, i64 24
  %1 = load ptr, ptr %arena, align 8
  %address = getelementptr inbounds nuw i8, ptr %1, i64 8
  %2 = load ptr, ptr %address, align 8
  %cmp = icmp eq ptr %2, null
  br i1 %cmp, label %if.then, label %if.end

if.then:
  tail call void @Py_IncRef(ptr noundef nonnull @_Py_NotImplementedStruct)
  br label %cleanup74

if.end:
  %leaf_count = getelementptr inbounds nuw i8, ptr %0, i64 72
  %3 = load i64, ptr %leaf_count, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %found)
  %mul = shl i64 %3, 3
  %4 = alloca i8, i64 %mul, align 16
  store ptr %4, ptr %found, align 8
  %places = getelementptr inbounds nuw i8, ptr %found, i64 8
  %5 = alloca i8, i64 %mul, align 16
  store ptr %5, ptr %places, align 8
  %integers = getelementptr inbounds nuw i8, ptr %found, i64 16
  %6 = alloca i8, i64 %mul, align 16
  store ptr %6, ptr %integers, align 8
  %count6 = getelementptr inbounds nuw i8, ptr %found, i64 24
  store i64 0, ptr %count6, align 8
  %wanted = getelementptr inbounds nuw i8, ptr %found, i64 32
  %leaves = getelementptr inbounds nuw i8, ptr %0, i64 80
  %7 = load ptr, ptr %leaves, align 8
  store ptr %7, ptr %wanted, align 8
  %cmp.i = icmp eq ptr %names, null
  br i1 %cmp.i, label %cond.end.i, label %cond.false.i

cond.false.i:
  %call.i = call i64 @PyTuple_Size(ptr noundef nonnull %names)
  br label %cond.end.i

cond.end.i:
  %cond.i = phi i64 [ %call.i, %cond.false.i ], [ 0, %if.end ]
  %named_count.i = getelementptr inbounds nuw i8, ptr %0, i64 48
  %8 = load i64, ptr %named_count.i, align 8
  %cmp2.not.i = icmp eq i64 %cond.i, %8
  br i1 %cmp2.not.i, label %lor.rhs.i, label %if.then18

lor.rhs.i:
  %add.i = add nsw i64 %cond.i, %count
  %argument_count.i = getelementptr inbounds nuw i8, ptr %0, i64 40
  %9 = load i64, ptr %argument_count.i, align 8
  %cmp3.not.i = icmp eq i64 %add.i, %9
  br i1 %cmp3.not.i, label %for.cond.preheader.i, label %if.then18

for.cond.preheader.i:
  %cmp6.not63.i = icmp slt i64 %add.i, 1
  br i1 %cmp6.not63.i, label %if.end22, label %for.body.lr.ph.i

for.body.lr.ph.i:
  %names11.i = getelementptr inbounds nuw i8, ptr %0, i64 56
  %add.ptr.i = getelementptr inbounds ptr, ptr %arguments, i64 %count
  %cmp8.i.i = icmp sgt i64 %cond.i, 0
  %argument_nodes.i = getelementptr inbounds nuw i8, ptr %0, i64 64
  br label %for.body.i

for.cond.i:
  %inc.i = add nuw nsw i64 %n.064.i, 1
  %10 = load i64, ptr %argument_count.i, align 8
  %cmp6.not.not.i = icmp slt i64 %inc.i, %10
  br i1 %cmp6.not.not.i, label %for.body.i, label %if.end22

for.body.i:
  %n.064.i = phi i64 [ 0, %for.body.lr.ph.i ], [ %inc.i, %for.cond.i ]
  %arrayidx.i = getelementptr inbounds nuw ptr, ptr %arguments, i64 %n.064.i
  %cmp8.not.i = icmp slt i64 %n.064.i, %count
  br i1 %cmp8.not.i, label %if.end14.i, label %if.then10.i

if.then10.i:
  %11 = load ptr, ptr %names11.i, align 8
  %sub.i = sub nsw i64 %n.064.i, %count
  %arrayidx12.i = getelementptr inbounds nuw ptr, ptr %11, i64 %sub.i
  %12 = load ptr, ptr %arrayidx12.i, align 8
  br i1 %cmp8.i.i, label %for.body.i.i, label %if.then18

for.body.i.i:
  %n.09.i.i = phi i64 [ %inc.i.i, %for.inc.i.i ], [ 0, %if.then10.i ]
  %call.i.i = call ptr @PyTuple_GetItem(ptr noundef %names, i64 noundef %n.09.i.i)
  %cmp1.i.i = icmp eq ptr %call.i.i, %12
  br i1 %cmp1.i.i, label %cleanup.i.i, label %for.inc.i.i

for.inc.i.i:
  %inc.i.i = add nuw nsw i64 %n.09.i.i, 1
  %exitcond.not.i.i = icmp eq i64 %inc.i.i, %cond.i
  br i1 %exitcond.not.i.i, label %if.then18, label %for.body.i.i

cleanup.i.i:
  %arrayidx.i.i = getelementptr inbounds nuw ptr, ptr %add.ptr.i, i64 %n.09.i.i
  br label %if.end14.i

if.end14.i:
  %given.0.in.i = phi ptr [ %arrayidx.i, %for.body.i ], [ %arrayidx.i.i, %cleanup.i.i ]
  %given.0.i = load ptr, ptr %given.0.in.i, align 8
  %cmp15.i = icmp eq ptr %given.0.i, null
  br i1 %cmp15.i, label %if.then18, label %lor.rhs17.i

lor.rhs17.i:
  %13 = load ptr, ptr %argument_nodes.i, align 8
  %arrayidx18.i = getelementptr inbounds nuw %struct.node, ptr %13, i64 %n.064.i
  %call19.i = call fastcc i32 @read(ptr noundef %arrayidx18.i, ptr noundef %given.0.i, ptr noundef nonnull %found)
  %tobool20.not.i = icmp eq i32 %call19.i, 0
  br i1 %tobool20.not.i, label %if.then18, label %for.cond.i

if.then18:
  %14 = load ptr, ptr %found, align 8
  %15 = load i64, ptr %count6, align 8
  %cmp3.i = icmp sgt i64 %15, 0
  br i1 %cmp3.i, label %for.body.i94, label %release.exit

for.body.i94:
  %n.04.i = phi i64 [ %inc.i96, %for.body.i94 ], [ 0, %if.then18 ]
  %arrayidx.i95 = getelementptr inbounds nuw ptr, ptr %14, i64 %n.04.i
  %16 = load ptr, ptr %arrayidx.i95, align 8
  call void @Py_DecRef(ptr noundef %16)
  %inc.i96 = add nuw nsw i64 %n.04.i, 1
  %exitcond.not.i = icmp eq i64 %inc.i96, %15
  br i1 %exitcond.not.i, label %release.exit, label %for.body.i94

release.exit:
  call void @Py_IncRef(ptr noundef nonnull @_Py_NotImplementedStruct)
  br label %cleanup72

if.end22:
  %result_count = getelementptr inbounds nuw i8, ptr %0, i64 88
  %17 = load i64, ptr %result_count, align 8
  %mul23 = shl i64 %17, 3
  %18 = alloca i8, i64 %mul23, align 16
  %19 = alloca i8, i64 %mul23, align 16
  %cmp43.i = icmp sgt i64 %17, 0
  br i1 %cmp43.i, label %for.body.lr.ph.i97, label %if.then36

for.body.lr.ph.i97:
  %results2.i = getelementptr inbounds nuw i8, ptr %0, i64 96
  br label %for.body.i98

for.body.i98:
  %n.044.i = phi i64 [ 0, %for.body.lr.ph.i97 ], [ %inc.i104, %if.end.i ]
  %20 = load ptr, ptr %results2.i, align 8
  %arrayidx.i99 = getelementptr inbounds nuw %struct.result, ptr %20, i64 %n.044.i
  %block.i.i = getelementptr inbounds nuw i8, ptr %arrayidx.i99, i64 24
  %21 = load i64, ptr %block.i.i, align 8
  %cmp.not.i.i = icmp eq i64 %21, 0
  br i1 %cmp.not.i.i, label %cond.false.i.i, label %cond.true.i.i

cond.true.i.i:
  %call.i.i.i = call fastcc ptr @take(i64 noundef %21)
  %cmp.i.i.i = icmp eq ptr %call.i.i.i, null
  br i1 %cmp.i.i.i, label %if.then.i.i.i, label %if.end.i.i.i

if.then.i.i.i:
  %call3.i.i.i = call ptr @PyErr_NoMemory()
  br label %new_array.exit.i

if.end.i.i.i:
  %call4.i.i.i = call fastcc ptr @array_at(ptr noundef nonnull readonly %arrayidx.i99, ptr noundef nonnull %call.i.i.i, i32 noundef 1281)
  %cmp5.i.i.i = icmp eq ptr %call4.i.i.i, null
  br i1 %cmp5.i.i.i, label %if.then14.i.i.i, label %if.end16.i.i.i

if.then14.i.i.i:
  %22 = load i64, ptr %block.i.i, align 8
  call fastcc void @give(ptr noundef nonnull %call.i.i.i, i64 noundef %22)
  br label %new_array.exit.thread.i

if.end16.i.i.i:
  %call17.i.i.i = call ptr @PyCapsule_New(ptr noundef nonnull %call.i.i.i, ptr noundef nonnull @OWNER, ptr noundef nonnull @release_block)
  %cmp18.i.i.i = icmp eq ptr %call17.i.i.i, null
  %23 = load i64, ptr %block.i.i, align 8
  br i1 %cmp18.i.i.i, label %if.then27.i.i.i, label %if.end29.i.i.i

if.then27.i.i.i:
  call fastcc void @give(ptr noundef nonnull %call.i.i.i, i64 noundef %23)
  call void @Py_DecRef(ptr noundef nonnull %call4.i.i.i)
  br label %new_array.exit.thread.i

if.end29.i.i.i:
  %24 = inttoptr i64 %23 to ptr
  %call31.i.i.i = call i32 @PyCapsule_SetContext(ptr noundef nonnull %call17.i.i.i, ptr noundef %24)
  %call32.i.i.i = call i32 @PyArray_SetBaseObject(ptr noundef nonnull %call4.i.i.i, ptr noundef nonnull %call17.i.i.i)
  %cmp33.not.i.i.i = icmp eq i32 %call32.i.i.i, 0
  br i1 %cmp33.not.i.i.i, label %new_array.exit.thread23.i, label %if.then42.i.i.i

new_array.exit.thread23.i:
  %arrayidx325.i = getelementptr inbounds nuw ptr, ptr %18, i64 %n.044.i
  store ptr %call4.i.i.i, ptr %arrayidx325.i, align 8
  br label %if.end.i

if.then42.i.i.i:
  call void @Py_DecRef(ptr noundef nonnull %call4.i.i.i)
  br label %new_array.exit.thread.i

cond.false.i.i:
  %call1.i.i = call fastcc ptr @array_at(ptr noundef nonnull readonly %arrayidx.i99, ptr noundef null, i32 noundef 0)
  br label %new_array.exit.i

new_array.exit.thread.i:
  %arrayidx321.i = getelementptr inbounds nuw ptr, ptr %18, i64 %n.044.i
  store ptr null, ptr %arrayidx321.i, align 8
  br label %if.then.i

new_array.exit.i:
  %cond.i.i = phi ptr [ %call1.i.i, %cond.false.i.i ], [ %call3.i.i.i, %if.then.i.i.i ]
  %arrayidx3.i = getelementptr inbounds nuw ptr, ptr %18, i64 %n.044.i
  store ptr %cond.i.i, ptr %arrayidx3.i, align 8
  %cmp5.i = icmp eq ptr %cond.i.i, null
  br i1 %cmp5.i, label %if.then.i, label %if.end.i

if.then.i:
  %cmp3.i.not.i = icmp eq i64 %n.044.i, 0
  br i1 %cmp3.i.not.i, label %make_results.exit, label %for.body.i.i100

for.body.i.i100:
  %n.04.i.i = phi i64 [ %inc.i.i102, %for.body.i.i100 ], [ 0, %if.then.i ]
  %arrayidx.i.i101 = getelementptr inbounds nuw ptr, ptr %18, i64 %n.04.i.i
  %25 = load ptr, ptr %arrayidx.i.i101, align 8
  call void @Py_DecRef(ptr noundef %25)
  %inc.i.i102 = add nuw nsw i64 %n.04.i.i, 1
  %exitcond.not.i.i103 = icmp eq i64 %inc.i.i102, %n.044.i
  br i1 %exitcond.not.i.i103, label %make_results.exit, label %for.body.i.i100

if.end.i:
  %cond.i27.i = phi ptr [ %call4.i.i.i, %new_array.exit.thread23.i ], [ %cond.i.i, %new_array.exit.i ]
  %data.i = getelementptr inbounds nuw i8, ptr %cond.i27.i, i64 16
  %26 = load ptr, ptr %data.i, align 8
  %arrayidx8.i = getelementptr inbounds nuw ptr, ptr %19, i64 %n.044.i
  store ptr %26, ptr %arrayidx8.i, align 8
  %inc.i104 = add nuw nsw i64 %n.044.i, 1
  %27 = load i64, ptr %result_count, align 8
  %cmp.i105 = icmp slt i64 %inc.i104, %27
  br i1 %cmp.i105, label %for.body.i98, label %if.then36

make_results.exit:
  call void @PyErr_Clear()
  br label %if.then65.critedge

if.then36:
  %28 = load ptr, ptr %places, align 8
  %29 = load ptr, ptr %arena, align 8
  %30 = load ptr, ptr %29, align 8
  store ptr null, ptr %29, align 8
  %cmp.i106 = icmp eq ptr %30, null
  br i1 %cmp.i106, label %if.then.i109, label %if.end16.i

if.then.i109:
  %arena_size.i = getelementptr inbounds nuw i8, ptr %0, i64 32
  %31 = load i64, ptr %arena_size.i, align 8
  %call.i110 = call fastcc ptr @take(i64 noundef %31)
  %cmp6.i = icmp eq ptr %call.i110, null
  br i1 %cmp6.i, label %if.then49, label %if.end16.i

if.end16.i:
  %arena.0.i = phi ptr [ %call.i110, %if.then.i109 ], [ %30, %if.then36 ]
  %is_long.i = getelementptr inbounds nuw i8, ptr %0, i64 112
  %32 = load i64, ptr %is_long.i, align 8
  %tobool17.not.i = icmp eq i64 %32, 0
  br i1 %tobool17.not.i, label %if.else.i, label %if.then18.i

if.then18.i:
  %call19.i107 = call ptr @PyEval_SaveThread()
  %33 = load ptr, ptr %0, align 8
  %program.i = getelementptr inbounds nuw i8, ptr %0, i64 8
  %34 = load ptr, ptr %program.i, align 8
  %context.i = getelementptr inbounds nuw i8, ptr %0, i64 16
  %35 = load ptr, ptr %context.i, align 8
  %call20.i = call i32 %33(ptr noundef %34, ptr noundef %35, ptr noundef %28, ptr noundef nonnull %19, ptr noundef nonnull %arena.0.i)
  call void @PyEval_RestoreThread(ptr noundef %call19.i107)
  br label %if.end25.i

if.else.i:
  %36 = load ptr, ptr %0, align 8
  %program22.i = getelementptr inbounds nuw i8, ptr %0, i64 8
  %37 = load ptr, ptr %program22.i, align 8
  %context23.i = getelementptr inbounds nuw i8, ptr %0, i64 16
  %38 = load ptr, ptr %context23.i, align 8
  %call24.i = call i32 %36(ptr noundef %37, ptr noundef %38, ptr noundef %28, ptr noundef nonnull %19, ptr noundef nonnull %arena.0.i)
  br label %if.end25.i

if.end25.i:
  %39 = load ptr, ptr %arena, align 8
  %address.i = getelementptr inbounds nuw i8, ptr %39, i64 8
  %40 = load ptr, ptr %address.i, align 8
  %cmp27.i = icmp eq ptr %arena.0.i, %40
  br i1 %cmp27.i, label %if.then29.i, label %if.else32.i

if.then29.i:
  store ptr %arena.0.i, ptr %39, align 8
  br label %if.end52

if.else32.i:
  %arena_size33.i = getelementptr inbounds nuw i8, ptr %0, i64 32
  %41 = load i64, ptr %arena_size33.i, align 8
  call fastcc void @give(ptr noundef nonnull %arena.0.i, i64 noundef %41)
  br label %if.end52

if.then49:
  %42 = load i64, ptr %result_count, align 8
  %cmp3.i111 = icmp sgt i64 %42, 0
  br i1 %cmp3.i111, label %for.body.i112, label %if.then65.critedge

for.body.i112:
  %n.04.i113 = phi i64 [ %inc.i115, %for.body.i112 ], [ 0, %if.then49 ]
  %arrayidx.i114 = getelementptr inbounds nuw ptr, ptr %18, i64 %n.04.i113
  %43 = load ptr, ptr %arrayidx.i114, align 8
  call void @Py_DecRef(ptr noundef %43)
  %inc.i115 = add nuw nsw i64 %n.04.i113, 1
  %exitcond.not.i116 = icmp eq i64 %inc.i115, %42
  br i1 %exitcond.not.i116, label %if.then65.critedge, label %for.body.i112

if.end52:
  %44 = load ptr, ptr %found, align 8
  %45 = load i64, ptr %leaf_count, align 8
  %cmp3.i118 = icmp sgt i64 %45, 0
  br i1 %cmp3.i118, label %for.body.i119, label %release.exit124

for.body.i119:
  %n.04.i120 = phi i64 [ %inc.i122, %for.body.i119 ], [ 0, %if.end52 ]
  %arrayidx.i121 = getelementptr inbounds nuw ptr, ptr %44, i64 %n.04.i120
  %46 = load ptr, ptr %arrayidx.i121, align 8
  call void @Py_DecRef(ptr noundef %46)
  %inc.i122 = add nuw nsw i64 %n.04.i120, 1
  %exitcond.not.i123 = icmp eq i64 %inc.i122, %45
  br i1 %exitcond.not.i123, label %release.exit124, label %for.body.i119

release.exit124:
  call void @llvm.lifetime.start.p0(ptr nonnull %next)
  store ptr %18, ptr %next, align 8
  %result_node = getelementptr inbounds nuw i8, ptr %0, i64 104
  %47 = load ptr, ptr %result_node, align 8
  %call68 = call fastcc ptr @build(ptr noundef %47, ptr noundef %next)
  %48 = load i64, ptr %result_count, align 8
  %cmp3.i125 = icmp sgt i64 %48, 0
  br i1 %cmp3.i125, label %for.body.i126, label %release.exit131

for.body.i126:
  %n.04.i127 = phi i64 [ %inc.i129, %for.body.i126 ], [ 0, %release.exit124 ]
  %arrayidx.i128 = getelementptr inbounds nuw ptr, ptr %18, i64 %n.04.i127
  %49 = load ptr, ptr %arrayidx.i128, align 8
  call void @Py_DecRef(ptr noundef %49)
  %inc.i129 = add nuw nsw i64 %n.04.i127, 1
  %exitcond.not.i130 = icmp eq i64 %inc.i129, %48
  br i1 %exitcond.not.i130, label %release.exit131, label %for.body.i126

release.exit131:
  call void @llvm.lifetime.end.p0(ptr nonnull %next)
  br label %cleanup72

if.then65.critedge:
  %50 = load ptr, ptr %found, align 8
  %51 = load i64, ptr %leaf_count, align 8
  %cmp3.i132 = icmp sgt i64 %51, 0
  br i1 %cmp3.i132, label %for.body.i133, label %release.exit138

for.body.i133:
  %n.04.i134 = phi i64 [ %inc.i136, %for.body.i133 ], [ 0, %if.then65.critedge ]
  %arrayidx.i135 = getelementptr inbounds nuw ptr, ptr %50, i64 %n.04.i134
  %52 = load ptr, ptr %arrayidx.i135, align 8
  call void @Py_DecRef(ptr noundef %52)
  %inc.i136 = add nuw nsw i64 %n.04.i134, 1
  %exitcond.not.i137 = icmp eq i64 %inc.i136, %51
  br i1 %exitcond.not.i137, label %release.exit138, label %for.body.i133

release.exit138:
  call void @Py_IncRef(ptr noundef nonnull @_Py_NotImplementedStruct)
  br label %cleanup72

cleanup72:
  %retval.1 = phi ptr [ @_Py_NotImplementedStruct, %release.exit ], [ @_Py_NotImplementedStruct, %release.exit138 ], [ %call68, %release.exit131 ]
  call void @llvm.lifetime.end.p0(ptr nonnull %found)
  br label %cleanup74

cleanup74:
  %retval.2 = phi ptr [ @_Py_NotImplementedStruct, %if.then ], [ %retval.1, %cleanup72 ]
  ret ptr %retval.2
}

declare ptr @PyTuple_GetItem(ptr noundef, i64 noundef)

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

declare i64 @PyTuple_Size(ptr noundef)

define internal fastcc range(i32 0, 2) i32 @read(ptr noundef readonly captures(none) %node, ptr noundef nonnull %given, ptr noundef nonnull captures(none) %found) {
entry:
  %0 = load i64, ptr %node, align 8
  switch i64 %0, label %if.end8 [
    i64 0, label %if.then
    i64 1, label %if.then5
  ]

if.then:
  %wanted1.i = getelementptr inbounds nuw i8, ptr %found, i64 32
  %1 = load ptr, ptr %wanted1.i, align 8
  %count.i = getelementptr inbounds nuw i8, ptr %found, i64 24
  %2 = load i64, ptr %count.i, align 8
  %arrayidx.i = getelementptr inbounds %struct.argument, ptr %1, i64 %2
  %number.i = getelementptr inbounds nuw i8, ptr %arrayidx.i, i64 24
  %3 = load i64, ptr %number.i, align 8
  %cmp.not.i = icmp eq i64 %3, 0
  br i1 %cmp.not.i, label %if.else.i, label %if.then.i

if.then.i:
  %integers.i = getelementptr inbounds nuw i8, ptr %found, i64 16
  %4 = load ptr, ptr %integers.i, align 8
  %arrayidx5.i = getelementptr inbounds i64, ptr %4, i64 %2
  %call.i = tail call fastcc ptr @read_number(ptr noundef nonnull %given, i64 noundef %3, ptr noundef %arrayidx5.i)
  br label %if.end23.i

if.else.i:
  %type.i = getelementptr inbounds nuw i8, ptr %given, i64 8
  %5 = load ptr, ptr %type.i, align 8
  %cmp6.i = icmp eq ptr %5, @PyArray_Type
  br i1 %cmp6.i, label %if.then15.i, label %if.else17.i

if.then15.i:
  %dtype.i.i = getelementptr inbounds nuw i8, ptr %given, i64 56
  %6 = load ptr, ptr %dtype.i.i, align 8
  %identity.i.i = getelementptr inbounds nuw i8, ptr %6, i64 24
  %7 = load i64, ptr %identity.i.i, align 8
  %8 = load i64, ptr %arrayidx.i, align 8
  %cmp.not.i.i = icmp eq i64 %7, %8
  br i1 %cmp.not.i.i, label %lor.lhs.false.i.i, label %return

lor.lhs.false.i.i:
  %flags.i.i = getelementptr inbounds nuw i8, ptr %given, i64 64
  %9 = load i32, ptr %flags.i.i, align 8
  %and.i.i = and i32 %9, 257
  %cmp2.not.i.i = icmp eq i32 %and.i.i, 257
  br i1 %cmp2.not.i.i, label %lor.rhs.i.i, label %return

lor.rhs.i.i:
  %rank.i.i = getelementptr inbounds nuw i8, ptr %given, i64 24
  %10 = load i32, ptr %rank.i.i, align 8
  %conv.i.i = sext i32 %10 to i64
  %rank3.i.i = getelementptr inbounds nuw i8, ptr %arrayidx.i, i64 8
  %11 = load i64, ptr %rank3.i.i, align 8
  %cmp4.not.i.i = icmp eq i64 %11, %conv.i.i
  br i1 %cmp4.not.i.i, label %for.cond.preheader.i.i, label %return

for.cond.preheader.i.i:
  %cmp9.not37.i.i = icmp sgt i32 %10, 0
  br i1 %cmp9.not37.i.i, label %for.body.lr.ph.i.i, label %for.end.i.i

for.body.lr.ph.i.i:
  %dims.i.i = getelementptr inbounds nuw i8, ptr %given, i64 32
  %12 = load ptr, ptr %dims.i.i, align 8
  %dims11.i.i = getelementptr inbounds nuw i8, ptr %arrayidx.i, i64 16
  %13 = load ptr, ptr %dims11.i.i, align 8
  br label %for.body.i.i

for.cond.i.i:
  %inc.i.i = add nuw nsw i64 %n.038.i.i, 1
  %exitcond.not.i.i = icmp eq i64 %inc.i.i, %conv.i.i
  br i1 %exitcond.not.i.i, label %for.end.i.i, label %for.body.i.i

for.body.i.i:
  %n.038.i.i = phi i64 [ 0, %for.body.lr.ph.i.i ], [ %inc.i.i, %for.cond.i.i ]
  %arrayidx.i.i = getelementptr inbounds nuw i64, ptr %12, i64 %n.038.i.i
  %14 = load i64, ptr %arrayidx.i.i, align 8
  %arrayidx12.i.i = getelementptr inbounds nuw i64, ptr %13, i64 %n.038.i.i
  %15 = load i64, ptr %arrayidx12.i.i, align 8
  %cmp13.not.i.i = icmp eq i64 %14, %15
  br i1 %cmp13.not.i.i, label %for.cond.i.i, label %return

for.end.i.i:
  %data.i.i = getelementptr inbounds nuw i8, ptr %given, i64 16
  %16 = load ptr, ptr %data.i.i, align 8
  br label %if.end23.i

if.else17.i:
  %scalar_type.i = getelementptr inbounds nuw i8, ptr %arrayidx.i, i64 32
  %17 = load ptr, ptr %scalar_type.i, align 8
  %cmp19.i = icmp eq ptr %5, %17
  %add.ptr.i = getelementptr inbounds nuw i8, ptr %given, i64 16
  br i1 %cmp19.i, label %if.end34.i, label %return

if.end23.i:
  %place.0.i = phi ptr [ %call.i, %if.then.i ], [ %16, %for.end.i.i ]
  %cmp24.i = icmp eq ptr %place.0.i, null
  br i1 %cmp24.i, label %return, label %if.end34.i

if.end34.i:
  %place.063.i = phi ptr [ %place.0.i, %if.end23.i ], [ %add.ptr.i, %if.else17.i ]
  tail call void @Py_IncRef(ptr noundef nonnull %given)
  %places.i = getelementptr inbounds nuw i8, ptr %found, i64 8
  %18 = load ptr, ptr %places.i, align 8
  %19 = load i64, ptr %count.i, align 8
  %arrayidx36.i = getelementptr inbounds ptr, ptr %18, i64 %19
  store ptr %place.063.i, ptr %arrayidx36.i, align 8
  %20 = load ptr, ptr %found, align 8
  %21 = load i64, ptr %count.i, align 8
  %inc.i = add nsw i64 %21, 1
  store i64 %inc.i, ptr %count.i, align 8
  %arrayidx38.i = getelementptr inbounds ptr, ptr %20, i64 %21
  store ptr %given, ptr %arrayidx38.i, align 8
  br label %return

if.then5:
  %object = getelementptr inbounds nuw i8, ptr %node, i64 16
  %22 = load ptr, ptr %object, align 8
  %cmp6 = icmp eq ptr %given, %22
  %conv7 = zext i1 %cmp6 to i32
  br label %return

if.end8:
  %type = getelementptr inbounds nuw i8, ptr %given, i64 8
  %23 = load ptr, ptr %type, align 8
  %object9 = getelementptr inbounds nuw i8, ptr %node, i64 16
  %24 = load ptr, ptr %object9, align 8
  %cmp10.not = icmp eq ptr %23, %24
  br i1 %cmp10.not, label %lor.lhs.false, label %return

lor.lhs.false:
  %call13 = tail call fastcc i64 @size_of(i64 noundef %0, ptr noundef %given)
  %count = getelementptr inbounds nuw i8, ptr %node, i64 8
  %25 = load i64, ptr %count, align 8
  %cmp14.not = icmp eq i64 %call13, %25
  br i1 %cmp14.not, label %for.cond.preheader, label %return

for.cond.preheader:
  %cmp1955 = icmp sgt i64 %call13, 0
  br i1 %cmp1955, label %for.body.lr.ph, label %return

for.body.lr.ph:
  %children = getelementptr inbounds nuw i8, ptr %node, i64 32
  br label %for.body

for.cond:
  %inc = add nuw nsw i64 %place.056, 1
  %26 = load i64, ptr %count, align 8
  %cmp19 = icmp slt i64 %inc, %26
  br i1 %cmp19, label %for.body, label %return

for.body:
  %place.056 = phi i64 [ 0, %for.body.lr.ph ], [ %inc, %for.cond ]
  %call21 = tail call fastcc ptr @child_of(ptr noundef nonnull %node, ptr noundef %given, i64 noundef %place.056)
  %cmp22 = icmp eq ptr %call21, null
  br i1 %cmp22, label %return, label %if.end25

if.end25:
  tail call void @Py_IncRef(ptr noundef nonnull %call21)
  %27 = load ptr, ptr %children, align 8
  %arrayidx = getelementptr inbounds nuw %struct.node, ptr %27, i64 %place.056
  %call26 = tail call fastcc i32 @read(ptr noundef %arrayidx, ptr noundef %call21, ptr noundef %found)
  tail call void @Py_DecRef(ptr noundef nonnull %call21)
  %tobool27.not.not = icmp eq i32 %call26, 0
  br i1 %tobool27.not.not, label %return, label %for.cond

return:
  %retval.4 = phi i32 [ 0, %lor.lhs.false ], [ %conv7, %if.then5 ], [ 0, %for.body ], [ 0, %if.end8 ], [ 1, %if.end34.i ], [ 0, %if.end23.i ], [ 0, %if.else17.i ], [ 0, %lor.lhs.false.i.i ], [ 0, %lor.rhs.i.i ], [ 0, %if.then15.i ], [ 1, %for.cond.preheader ], [ 0, %if.end25 ], [ 1, %for.cond ], [ 0, %for.body.i.i ]
  ret i32 %retval.4
}

define internal fastcc i64 @size_of(i64 noundef range(i64 2, 0) %kind, ptr noundef nonnull %container) {
entry:
  switch i64 %kind, label %sw.default [
    i64 2, label %sw.bb
    i64 3, label %sw.bb1
  ]

sw.bb:
  %call = tail call i64 @PyTuple_Size(ptr noundef nonnull %container)
  br label %return

sw.bb1:
  %call2 = tail call i64 @PyList_Size(ptr noundef nonnull %container)
  br label %return

sw.default:
  %call3 = tail call i64 @PyDict_Size(ptr noundef nonnull %container)
  br label %return

return:
  %retval.0 = phi i64 [ %call3, %sw.default ], [ %call, %sw.bb ], [ %call2, %sw.bb1 ]
  ret i64 %retval.0
}

define internal fastcc ptr @child_of(ptr noundef readonly captures(none) %node, ptr noundef nonnull %container, i64 noundef %place) {
entry:
  %0 = load i64, ptr %node, align 8
  switch i64 %0, label %sw.epilog [
    i64 2, label %sw.bb
    i64 3, label %sw.bb1
  ]

sw.bb:
  %call = tail call ptr @PyTuple_GetItem(ptr noundef nonnull %container, i64 noundef %place)
  br label %return

sw.bb1:
  %call2 = tail call ptr @PyList_GetItem(ptr noundef nonnull %container, i64 noundef %place)
  br label %return

sw.epilog:
  %keys = getelementptr inbounds nuw i8, ptr %node, i64 24
  %1 = load ptr, ptr %keys, align 8
  %arrayidx = getelementptr inbounds ptr, ptr %1, i64 %place
  %2 = load ptr, ptr %arrayidx, align 8
  %call3 = tail call ptr @PyDict_GetItemWithError(ptr noundef nonnull %container, ptr noundef %2)
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

define internal fastcc ptr @read_number(ptr noundef nonnull %given, i64 noundef range(i64 1, 0) %kind, ptr noundef writeonly captures(ret: address, provenance) %memory) {
entry:
  %overflow = alloca i32, align 4
  switch i64 %kind, label %return [
    i64 1, label %sw.bb
    i64 3, label %sw.bb1
    i64 2, label %sw.bb11
  ]

sw.bb:
  %type = getelementptr inbounds nuw i8, ptr %given, i64 8
  %0 = load ptr, ptr %type, align 8
  %cmp = icmp eq ptr %0, @PyFloat_Type
  %add.ptr = getelementptr inbounds nuw i8, ptr %given, i64 16
  %cond = select i1 %cmp, ptr %add.ptr, ptr null
  br label %return

sw.bb1:
  %cmp2 = icmp eq ptr %given, @_Py_TrueStruct
  %conv3 = zext i1 %cmp2 to i8
  store i8 %conv3, ptr %memory, align 1
  %type4 = getelementptr inbounds nuw i8, ptr %given, i64 8
  %1 = load ptr, ptr %type4, align 8
  %cmp5 = icmp eq ptr %1, @PyBool_Type
  %cond10 = select i1 %cmp5, ptr %memory, ptr null
  br label %return

sw.bb11:
  %type12 = getelementptr inbounds nuw i8, ptr %given, i64 8
  %2 = load ptr, ptr %type12, align 8
  %cmp13.not = icmp eq ptr %2, @PyLong_Type
  br i1 %cmp13.not, label %if.end, label %return

if.end:
  call void @llvm.lifetime.start.p0(ptr nonnull %overflow)
  store i32 0, ptr %overflow, align 4
  %call = call i64 @PyLong_AsLongLongAndOverflow(ptr noundef nonnull %given, ptr noundef nonnull %overflow)
  store i64 %call, ptr %memory, align 8
  %3 = load i32, ptr %overflow, align 4
  %cmp15 = icmp eq i32 %3, 0
  %cond20 = select i1 %cmp15, ptr %memory, ptr null
  call void @llvm.lifetime.end.p0(ptr nonnull %overflow)
  br label %return

return:
  %retval.0 = phi ptr [ null, %sw.bb11 ], [ %cond, %sw.bb ], [ %cond10, %sw.bb1 ], [ %cond20, %if.end ], [ null, %entry ]
  ret ptr %retval.0
}

declare i64 @PyLong_AsLongLongAndOverflow(ptr noundef, ptr noundef)

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

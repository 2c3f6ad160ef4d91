target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

; Function Attrs: nounwind null_pointer_is_valid safestack
define void @openmps_thread(ptr noundef readonly captures(none) %0, ptr noundef readonly captures(none) %1, i32 noundef %2, i32 noundef %3, i32 noundef %4, i32 noundef %5, i32 noundef %6) local_unnamed_addr #0 {
  %8 = load ptr, ptr %0, align 1
  %9 = load ptr, ptr %8, align 1
  %10 = getelementptr inbounds nuw i8, ptr %8, i64 8
  %11 = load ptr, ptr %10, align 1
  %12 = getelementptr inbounds nuw i8, ptr %1, i64 24
  %13 = load i32, ptr %12, align 1
  %14 = icmp ugt i32 %2, %13
  br i1 %14, label %_ZL3runPKN7openmps6LaunchEPKNS_11ThreadgroupEj.exit, label %.preheader49.i

.preheader49.i:                                   ; preds = %7
  %15 = zext i32 %2 to i64
  %16 = getelementptr inbounds nuw i32, ptr %9, i64 %15
  %17 = load i32, ptr %16, align 1
  %18 = icmp sgt i32 %17, 0
  br i1 %18, label %.lr.ph.preheader.i, label %.loopexit.sink.split.i

.lr.ph.preheader.i:                               ; preds = %.preheader49.i
  %wide.trip.count.i = zext nneg i32 %17 to i64
  br label %.lr.ph.i

.lr.ph.i:                                         ; preds = %26, %.lr.ph.preheader.i
  %indvars.iv.i = phi i64 [ 0, %.lr.ph.preheader.i ], [ %indvars.iv.next.i, %26 ]
  %.04453.i = phi i32 [ 0, %.lr.ph.preheader.i ], [ %.1.i, %26 ]
  %19 = getelementptr inbounds nuw i32, ptr %9, i64 %indvars.iv.i
  %20 = load i32, ptr %19, align 1
  %21 = icmp eq i32 %20, 7
  br i1 %21, label %26, label %22

22:                                               ; preds = %.lr.ph.i
  %23 = icmp slt i32 %20, 0
  br i1 %23, label %._crit_edge.i, label %24

24:                                               ; preds = %22
  %spec.select.i = tail call i32 @llvm.umin.i32(i32 %20, i32 100)
  %25 = add i32 %spec.select.i, %.04453.i
  br label %26

26:                                               ; preds = %24, %.lr.ph.i
  %.1.i = phi i32 [ %.04453.i, %.lr.ph.i ], [ %25, %24 ]
  %indvars.iv.next.i = add nuw nsw i64 %indvars.iv.i, 1
  %exitcond.not.i = icmp eq i64 %indvars.iv.next.i, %wide.trip.count.i
  br i1 %exitcond.not.i, label %._crit_edge.i, label %.lr.ph.i

._crit_edge.i:                                    ; preds = %26, %22
  %.044.lcssa.i = phi i32 [ %.04453.i, %22 ], [ %.1.i, %26 ]
  switch i32 %.044.lcssa.i, label %._crit_edge.thread.i [
    i32 1, label %.loopexit.sink.split.i
    i32 -2, label %27
    i32 40, label %28
    i32 5, label %.preheader.i
  ]

27:                                               ; preds = %._crit_edge.i
  br label %28

28:                                               ; preds = %27, %._crit_edge.i
  %.2.i = phi i32 [ 7, %27 ], [ %.044.lcssa.i, %._crit_edge.i ]
  %29 = mul i32 %.2.i, %17
  br label %.loopexit.sink.split.i

.preheader.i:                                     ; preds = %._crit_edge.i, %.preheader.i
  %.4.i = phi i32 [ %32, %.preheader.i ], [ %.044.lcssa.i, %._crit_edge.i ]
  %30 = sext i32 %.4.i to i64
  %31 = getelementptr inbounds i32, ptr %9, i64 %30
  %32 = load i32, ptr %31, align 1
  %.not.i = icmp eq i32 %32, 0
  br i1 %.not.i, label %.loopexit.i, label %.preheader.i

._crit_edge.thread.i:                             ; preds = %._crit_edge.i
  br label %.loopexit.sink.split.i

.loopexit.sink.split.i:                           ; preds = %._crit_edge.thread.i, %28, %._crit_edge.i, %.preheader49.i
  %.sink.i = phi i32 [ 3, %._crit_edge.i ], [ %29, %28 ], [ -1, %.preheader49.i ], [ -1, %._crit_edge.thread.i ]
  %.3.ph.i = phi i32 [ %.044.lcssa.i, %._crit_edge.i ], [ %.2.i, %28 ], [ 0, %.preheader49.i ], [ %.044.lcssa.i, %._crit_edge.thread.i ]
  %33 = getelementptr inbounds nuw i32, ptr %11, i64 %15
  store i32 %.sink.i, ptr %33, align 1
  br label %.loopexit.i

.loopexit.i:                                      ; preds = %.preheader.i, %.loopexit.sink.split.i
  %.3.i = phi i32 [ %.3.ph.i, %.loopexit.sink.split.i ], [ %.4.i, %.preheader.i ]
  tail call void @openmps_simdgroup_barrier() #3
  %34 = load i32, ptr %16, align 1
  %35 = and i32 %34, 1
  %.not48.i = icmp eq i32 %35, 0
  br i1 %.not48.i, label %44, label %36

36:                                               ; preds = %.loopexit.i
  %37 = tail call i32 @openmps_reduce_add_u32(i32 noundef %.3.i) #3
  %38 = icmp sgt i32 %.3.i, 3
  %39 = tail call i32 @openmps_ballot(i1 noundef zeroext %38) #3
  %40 = add i32 %39, %37
  %41 = getelementptr inbounds nuw i32, ptr %11, i64 %15
  %42 = load i32, ptr %41, align 1
  %43 = add i32 %40, %42
  store i32 %43, ptr %41, align 1
  br label %44

44:                                               ; preds = %36, %.loopexit.i
  %45 = xor i32 %2, 1
  %46 = tail call i32 @openmps_shuffle_u32(i32 noundef %.3.i, i32 noundef %45) #3
  %47 = tail call i32 @openmps_scan_inclusive_add_u32(i32 noundef %.3.i) #3
  %48 = add i32 %47, %46
  %49 = add i32 %2, 1
  %50 = zext i32 %49 to i64
  %51 = getelementptr inbounds nuw i32, ptr %11, i64 %50
  store i32 %48, ptr %51, align 1
  br label %_ZL3runPKN7openmps6LaunchEPKNS_11ThreadgroupEj.exit

_ZL3runPKN7openmps6LaunchEPKNS_11ThreadgroupEj.exit: ; preds = %7, %44
  ret void
}

; Function Attrs: convergent nounwind null_pointer_is_valid
declare void @openmps_simdgroup_barrier() local_unnamed_addr #1

; Function Attrs: convergent nounwind null_pointer_is_valid
declare i32 @openmps_reduce_add_u32(i32 noundef) local_unnamed_addr #1

; Function Attrs: convergent nounwind null_pointer_is_valid
declare i32 @openmps_ballot(i1 noundef zeroext) local_unnamed_addr #1

; Function Attrs: convergent nounwind null_pointer_is_valid
declare i32 @openmps_shuffle_u32(i32 noundef, i32 noundef) local_unnamed_addr #1

; Function Attrs: convergent nounwind null_pointer_is_valid
declare i32 @openmps_scan_inclusive_add_u32(i32 noundef) local_unnamed_addr #1

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.umin.i32(i32, i32) #2

attributes #0 = { nounwind null_pointer_is_valid safestack "min-legal-vector-width"="0" "no-trapping-math"="true" "probe-stack"="inline-asm" "stack-protector-buffer-size"="8" "target-cpu"="x86-64-v3" "target-features"="+avx,+avx2,+bmi,+bmi2,+cmov,+crc32,+cx16,+cx8,+f16c,+fma,+fxsr,+lzcnt,+mmx,+movbe,+popcnt,+sahf,+sse,+sse2,+sse3,+sse4.1,+sse4.2,+ssse3,+x87,+xsave" }
attributes #1 = { convergent nounwind null_pointer_is_valid "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="x86-64-v3" "target-features"="+avx,+avx2,+bmi,+bmi2,+cmov,+crc32,+cx16,+cx8,+f16c,+fma,+fxsr,+lzcnt,+mmx,+movbe,+popcnt,+sahf,+sse,+sse2,+sse3,+sse4.1,+sse4.2,+ssse3,+x87,+xsave" }
attributes #2 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
attributes #3 = { convergent nounwind }

!llvm.module.flags = !{!0, !1, !2}
!llvm.ident = !{!3}

!0 = !{i32 1, !"wchar_size", i32 4}
!1 = !{i32 4, !"probe-stack", !"inline-asm"}
!2 = !{i32 8, !"PIC Level", i32 2}
!3 = !{!"clang"}

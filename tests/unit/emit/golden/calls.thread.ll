target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

%struct.Large = type { [9 x float] }

; Function Attrs: nounwind null_pointer_is_valid safestack
define void @openmps_thread(ptr noundef readonly captures(none) %0, ptr noundef readnone captures(none) %1, i32 noundef %2, i32 noundef %3, i32 noundef %4, i32 noundef %5, i32 noundef %6) local_unnamed_addr #0 {
  %8 = alloca %struct.Large, align 4
  %9 = load ptr, ptr %0, align 1
  %10 = load ptr, ptr %9, align 1
  %11 = getelementptr inbounds nuw i8, ptr %9, i64 16
  %12 = load ptr, ptr %11, align 1
  %13 = getelementptr inbounds nuw i8, ptr %9, i64 24
  %14 = load ptr, ptr %13, align 1
  call void @llvm.lifetime.start.p0(ptr nonnull %8) #5
  %15 = add i32 %2, 1
  %16 = zext i32 %15 to i64
  %17 = getelementptr inbounds nuw %struct.Large, ptr %10, i64 %16
  %18 = zext i32 %2 to i64
  %19 = getelementptr inbounds nuw i32, ptr %12, i64 %18
  %20 = load i32, ptr %19, align 1
  %21 = trunc i32 %20 to i16
  %22 = getelementptr inbounds nuw i32, ptr %12, i64 %16
  %23 = load i32, ptr %22, align 1
  %24 = icmp sgt i32 %23, 3
  call fastcc void @_ZL5grown5Largesb(ptr dead_on_unwind nonnull writable sret(%struct.Large) align 1 %8, ptr noundef nonnull byval(%struct.Large) align 1 %17, i16 noundef signext %21, i1 noundef zeroext %24)
  %25 = getelementptr inbounds nuw %struct.Large, ptr %10, i64 %18
  call void @llvm.memcpy.p0.p0.i64(ptr noundef align 1 dereferenceable(36) %25, ptr noundef nonnull align 4 dereferenceable(36) %8, i64 36, i1 false)
  call void @llvm.lifetime.end.p0(ptr nonnull %8) #5
  %26 = atomicrmw add ptr %12, i32 1 monotonic, align 4
  %27 = getelementptr inbounds nuw i8, ptr %12, i64 4
  %28 = atomicrmw xchg ptr %27, i32 %2 acq_rel, align 4
  store i32 %28, ptr %19, align 1
  %29 = getelementptr inbounds nuw i8, ptr %12, i64 8
  %30 = cmpxchg weak ptr %29, i32 3, i32 4 monotonic monotonic, align 4
  %31 = extractvalue { i32, i1 } %30, 0
  %32 = getelementptr inbounds nuw i8, ptr %12, i64 12
  %33 = getelementptr inbounds nuw i8, ptr %12, i64 16
  %34 = load atomic i32, ptr %33 acquire, align 4
  store atomic i32 %34, ptr %32 release, align 4
  %35 = atomicrmw fadd ptr %14, float 1.000000e+00 monotonic, align 4
  %36 = getelementptr inbounds nuw i8, ptr %12, i64 20
  %37 = atomicrmw max ptr %36, i32 %31 monotonic, align 4
  fence seq_cst
  tail call void @openmps_simdgroup_barrier() #6
  ret void
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.start.p0(ptr captures(none)) #1

; Function Attrs: nofree noinline norecurse nosync nounwind null_pointer_is_valid safestack memory(argmem: readwrite)
define internal fastcc void @_ZL5grown5Largesb(ptr dead_on_unwind noalias writable writeonly sret(%struct.Large) align 1 captures(none) %0, ptr noundef byval(%struct.Large) align 1 captures(none) %1, i16 noundef signext %2, i1 noundef zeroext %3) unnamed_addr #2 {
  %5 = icmp slt i16 %2, 2
  br i1 %5, label %tailrecurse._crit_edge, label %tailrecurse

tailrecurse._crit_edge:                           ; preds = %tailrecurse, %4
  call void @llvm.memcpy.p0.p0.i64(ptr noundef align 1 dereferenceable(36) %0, ptr noundef align 1 dereferenceable(36) %1, i64 36, i1 false)
  ret void

tailrecurse:                                      ; preds = %4, %tailrecurse
  %.tr79 = phi i1 [ %13, %tailrecurse ], [ %3, %4 ]
  %.tr68 = phi i16 [ %12, %tailrecurse ], [ %2, %4 ]
  %6 = uitofp i1 %.tr79 to float
  %7 = urem i16 %.tr68, 9
  %8 = zext nneg i16 %7 to i64
  %9 = getelementptr inbounds nuw float, ptr %1, i64 %8
  %10 = load float, ptr %9, align 1
  %11 = fadd float %10, %6
  store float %11, ptr %9, align 1
  %12 = add nsw i16 %.tr68, -1
  %13 = xor i1 %.tr79, true
  %14 = icmp samesign ult i16 %.tr68, 3
  br i1 %14, label %tailrecurse._crit_edge, label %tailrecurse
}

; Function Attrs: mustprogress nocallback nofree nounwind willreturn memory(argmem: readwrite)
declare void @llvm.memcpy.p0.p0.i64(ptr noalias writeonly captures(none), ptr noalias readonly captures(none), i64, i1 immarg) #3

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.end.p0(ptr captures(none)) #1

; Function Attrs: convergent nounwind null_pointer_is_valid
declare void @openmps_simdgroup_barrier() local_unnamed_addr #4

attributes #0 = { nounwind null_pointer_is_valid safestack "min-legal-vector-width"="0" "no-trapping-math"="true" "probe-stack"="inline-asm" "stack-protector-buffer-size"="8" "target-cpu"="x86-64-v3" "target-features"="+avx,+avx2,+bmi,+bmi2,+cmov,+crc32,+cx16,+cx8,+f16c,+fma,+fxsr,+lzcnt,+mmx,+movbe,+popcnt,+sahf,+sse,+sse2,+sse3,+sse4.1,+sse4.2,+ssse3,+x87,+xsave" }
attributes #1 = { mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #2 = { nofree noinline norecurse nosync nounwind null_pointer_is_valid safestack memory(argmem: readwrite) "min-legal-vector-width"="0" "no-trapping-math"="true" "probe-stack"="inline-asm" "stack-protector-buffer-size"="8" "target-cpu"="x86-64-v3" "target-features"="+avx,+avx2,+bmi,+bmi2,+cmov,+crc32,+cx16,+cx8,+f16c,+fma,+fxsr,+lzcnt,+mmx,+movbe,+popcnt,+sahf,+sse,+sse2,+sse3,+sse4.1,+sse4.2,+ssse3,+x87,+xsave" }
attributes #3 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: readwrite) }
attributes #4 = { convergent nounwind null_pointer_is_valid "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="x86-64-v3" "target-features"="+avx,+avx2,+bmi,+bmi2,+cmov,+crc32,+cx16,+cx8,+f16c,+fma,+fxsr,+lzcnt,+mmx,+movbe,+popcnt,+sahf,+sse,+sse2,+sse3,+sse4.1,+sse4.2,+ssse3,+x87,+xsave" }
attributes #5 = { nounwind }
attributes #6 = { convergent nounwind }

!llvm.module.flags = !{!0, !1, !2}
!llvm.ident = !{!3}

!0 = !{i32 1, !"wchar_size", i32 4}
!1 = !{i32 4, !"probe-stack", !"inline-asm"}
!2 = !{i32 8, !"PIC Level", i32 2}
!3 = !{!"clang"}

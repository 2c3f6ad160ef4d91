target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

%struct.Large = type { [9 x float] }
%"struct.openmps::Launch" = type { ptr, [3 x i32], [3 x i32], [3 x i32], [31 x i32] }

; Function Attrs: nounwind null_pointer_is_valid safestack
define void @openmps_thread(ptr noundef %0, ptr noundef %1, i32 noundef %2, i32 noundef %3, i32 noundef %4, i32 noundef %5, i32 noundef %6) #0 {
  %8 = alloca ptr, align 8
  %9 = alloca ptr, align 8
  %10 = alloca i32, align 4
  %11 = alloca i32, align 4
  %12 = alloca i32, align 4
  %13 = alloca i32, align 4
  %14 = alloca i32, align 4
  store ptr %0, ptr %8, align 8
  store ptr %1, ptr %9, align 8
  store i32 %2, ptr %10, align 4
  store i32 %3, ptr %11, align 4
  store i32 %4, ptr %12, align 4
  store i32 %5, ptr %13, align 4
  store i32 %6, ptr %14, align 4
  %15 = load ptr, ptr %8, align 8
  %16 = load ptr, ptr %9, align 8
  %17 = load i32, ptr %10, align 4
  call void @_ZL3runPKN7openmps6LaunchEPKNS_11ThreadgroupEj(ptr noundef %15, ptr noundef %16, i32 noundef %17)
  ret void
}

; Function Attrs: nounwind null_pointer_is_valid safestack
define internal void @_ZL3runPKN7openmps6LaunchEPKNS_11ThreadgroupEj(ptr noundef %0, ptr noundef %1, i32 noundef %2) #0 {
  %4 = alloca ptr, align 8
  %5 = alloca ptr, align 8
  %6 = alloca i32, align 4
  %7 = alloca ptr, align 8
  %8 = alloca ptr, align 8
  %9 = alloca ptr, align 8
  %10 = alloca %struct.Large, align 4
  %11 = alloca %struct.Large, align 8
  %12 = alloca i32, align 4
  %13 = alloca i32, align 4
  %14 = alloca i32, align 4
  %15 = alloca i32, align 4
  %16 = alloca i32, align 4
  %17 = alloca i32, align 4
  %18 = alloca i8, align 1
  %19 = alloca i32, align 4
  %20 = alloca i32, align 4
  %21 = alloca float, align 4
  %22 = alloca float, align 4
  %23 = alloca i32, align 4
  %24 = alloca i32, align 4
  store ptr %0, ptr %4, align 8
  store ptr %1, ptr %5, align 8
  store i32 %2, ptr %6, align 4
  call void @llvm.lifetime.start.p0(ptr %7) #5
  %25 = load ptr, ptr %4, align 8
  %26 = getelementptr inbounds nuw %"struct.openmps::Launch", ptr %25, i32 0, i32 0
  %27 = load ptr, ptr %26, align 8
  %28 = getelementptr inbounds ptr, ptr %27, i64 0
  %29 = load ptr, ptr %28, align 8
  store ptr %29, ptr %7, align 8
  call void @llvm.lifetime.start.p0(ptr %8) #5
  %30 = load ptr, ptr %4, align 8
  %31 = getelementptr inbounds nuw %"struct.openmps::Launch", ptr %30, i32 0, i32 0
  %32 = load ptr, ptr %31, align 8
  %33 = getelementptr inbounds ptr, ptr %32, i64 2
  %34 = load ptr, ptr %33, align 8
  store ptr %34, ptr %8, align 8
  call void @llvm.lifetime.start.p0(ptr %9) #5
  %35 = load ptr, ptr %4, align 8
  %36 = getelementptr inbounds nuw %"struct.openmps::Launch", ptr %35, i32 0, i32 0
  %37 = load ptr, ptr %36, align 8
  %38 = getelementptr inbounds ptr, ptr %37, i64 3
  %39 = load ptr, ptr %38, align 8
  store ptr %39, ptr %9, align 8
  call void @llvm.lifetime.start.p0(ptr %10) #5
  %40 = load ptr, ptr %7, align 8
  %41 = load i32, ptr %6, align 4
  %42 = add i32 %41, 1
  %43 = zext i32 %42 to i64
  %44 = getelementptr inbounds nuw %struct.Large, ptr %40, i64 %43
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %11, ptr align 4 %44, i64 36, i1 false)
  %45 = load ptr, ptr %8, align 8
  %46 = load i32, ptr %6, align 4
  %47 = zext i32 %46 to i64
  %48 = getelementptr inbounds nuw i32, ptr %45, i64 %47
  %49 = load i32, ptr %48, align 4
  %50 = trunc i32 %49 to i16
  %51 = load ptr, ptr %8, align 8
  %52 = load i32, ptr %6, align 4
  %53 = add i32 %52, 1
  %54 = zext i32 %53 to i64
  %55 = getelementptr inbounds nuw i32, ptr %51, i64 %54
  %56 = load i32, ptr %55, align 4
  %57 = icmp sgt i32 %56, 3
  call void @_ZL5grown5Largesb(ptr dead_on_unwind writable sret(%struct.Large) align 4 %10, ptr noundef byval(%struct.Large) align 8 %11, i16 noundef signext %50, i1 noundef zeroext %57)
  %58 = load ptr, ptr %7, align 8
  %59 = load i32, ptr %6, align 4
  %60 = zext i32 %59 to i64
  %61 = getelementptr inbounds nuw %struct.Large, ptr %58, i64 %60
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %61, ptr align 4 %10, i64 36, i1 false)
  call void @llvm.lifetime.end.p0(ptr %10) #5
  %62 = load ptr, ptr %8, align 8
  store i32 1, ptr %12, align 4
  %63 = load i32, ptr %12, align 4
  %64 = atomicrmw add ptr %62, i32 %63 monotonic, align 4
  store i32 %64, ptr %13, align 4
  %65 = load i32, ptr %13, align 4
  %66 = load ptr, ptr %8, align 8
  %67 = getelementptr inbounds i32, ptr %66, i64 1
  %68 = load i32, ptr %6, align 4
  store i32 %68, ptr %14, align 4
  %69 = load i32, ptr %14, align 4
  %70 = atomicrmw xchg ptr %67, i32 %69 acq_rel, align 4
  store i32 %70, ptr %15, align 4
  %71 = load i32, ptr %15, align 4
  %72 = load ptr, ptr %8, align 8
  %73 = load i32, ptr %6, align 4
  %74 = zext i32 %73 to i64
  %75 = getelementptr inbounds nuw i32, ptr %72, i64 %74
  store i32 %71, ptr %75, align 4
  call void @llvm.lifetime.start.p0(ptr %16) #5
  store i32 3, ptr %16, align 4
  %76 = load ptr, ptr %8, align 8
  %77 = getelementptr inbounds i32, ptr %76, i64 2
  store i32 4, ptr %17, align 4
  %78 = load i32, ptr %16, align 4
  %79 = load i32, ptr %17, align 4
  %80 = cmpxchg weak ptr %77, i32 %78, i32 %79 monotonic monotonic, align 4
  %81 = extractvalue { i32, i1 } %80, 0
  %82 = extractvalue { i32, i1 } %80, 1
  br i1 %82, label %84, label %83

83:                                               ; preds = %3
  store i32 %81, ptr %16, align 4
  br label %84

84:                                               ; preds = %83, %3
  %85 = zext i1 %82 to i8
  store i8 %85, ptr %18, align 1
  %86 = load i8, ptr %18, align 1, !range !4, !noundef !5
  %87 = trunc i8 %86 to i1
  %88 = load ptr, ptr %8, align 8
  %89 = getelementptr inbounds i32, ptr %88, i64 3
  %90 = load ptr, ptr %8, align 8
  %91 = getelementptr inbounds i32, ptr %90, i64 4
  %92 = load atomic i32, ptr %91 acquire, align 4
  store i32 %92, ptr %20, align 4
  %93 = load i32, ptr %20, align 4
  store i32 %93, ptr %19, align 4
  %94 = load i32, ptr %19, align 4
  store atomic i32 %94, ptr %89 release, align 4
  %95 = load ptr, ptr %9, align 8
  store float 1.000000e+00, ptr %21, align 4
  %96 = load float, ptr %21, align 4
  %97 = atomicrmw fadd ptr %95, float %96 monotonic, align 4
  store float %97, ptr %22, align 4
  %98 = load float, ptr %22, align 4
  %99 = load ptr, ptr %8, align 8
  %100 = getelementptr inbounds i32, ptr %99, i64 5
  %101 = load i32, ptr %16, align 4
  store i32 %101, ptr %23, align 4
  %102 = load i32, ptr %23, align 4
  %103 = atomicrmw max ptr %100, i32 %102 monotonic, align 4
  store i32 %103, ptr %24, align 4
  %104 = load i32, ptr %24, align 4
  fence seq_cst
  call void @openmps_simdgroup_barrier() #6
  call void @llvm.lifetime.end.p0(ptr %16) #5
  call void @llvm.lifetime.end.p0(ptr %9) #5
  call void @llvm.lifetime.end.p0(ptr %8) #5
  call void @llvm.lifetime.end.p0(ptr %7) #5
  ret void
}

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.start.p0(ptr captures(none)) #1

; Function Attrs: noinline nounwind null_pointer_is_valid safestack
define internal void @_ZL5grown5Largesb(ptr dead_on_unwind noalias writable sret(%struct.Large) align 4 %0, ptr noundef byval(%struct.Large) align 8 %1, i16 noundef signext %2, i1 noundef zeroext %3) #2 {
  %5 = alloca i16, align 2
  %6 = alloca i8, align 1
  %7 = alloca %struct.Large, align 8
  store i16 %2, ptr %5, align 2
  %8 = zext i1 %3 to i8
  store i8 %8, ptr %6, align 1
  %9 = load i16, ptr %5, align 2
  %10 = sext i16 %9 to i32
  %11 = icmp slt i32 %10, 2
  br i1 %11, label %12, label %13

12:                                               ; preds = %4
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %0, ptr align 8 %1, i64 36, i1 false)
  br label %33

13:                                               ; preds = %4
  %14 = load i8, ptr %6, align 1, !range !4, !noundef !5
  %15 = trunc i8 %14 to i1
  %16 = zext i1 %15 to i32
  %17 = sitofp i32 %16 to float
  %18 = getelementptr inbounds nuw %struct.Large, ptr %1, i32 0, i32 0
  %19 = load i16, ptr %5, align 2
  %20 = sext i16 %19 to i32
  %21 = srem i32 %20, 9
  %22 = sext i32 %21 to i64
  %23 = getelementptr inbounds [9 x float], ptr %18, i64 0, i64 %22
  %24 = load float, ptr %23, align 4
  %25 = fadd float %24, %17
  store float %25, ptr %23, align 4
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %7, ptr align 8 %1, i64 36, i1 false)
  %26 = load i16, ptr %5, align 2
  %27 = sext i16 %26 to i32
  %28 = sub i32 %27, 1
  %29 = trunc i32 %28 to i16
  %30 = load i8, ptr %6, align 1, !range !4, !noundef !5
  %31 = trunc i8 %30 to i1
  %32 = xor i1 %31, true
  call void @_ZL5grown5Largesb(ptr dead_on_unwind writable sret(%struct.Large) align 4 %0, ptr noundef byval(%struct.Large) align 8 %7, i16 noundef signext %29, i1 noundef zeroext %32)
  br label %33

33:                                               ; preds = %13, %12
  ret void
}

; Function Attrs: nocallback nofree nounwind willreturn memory(argmem: readwrite)
declare void @llvm.memcpy.p0.p0.i64(ptr noalias writeonly captures(none), ptr noalias readonly captures(none), i64, i1 immarg) #3

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.end.p0(ptr captures(none)) #1

; Function Attrs: convergent nounwind null_pointer_is_valid
declare void @openmps_simdgroup_barrier() #4

attributes #0 = { nounwind null_pointer_is_valid safestack "min-legal-vector-width"="0" "no-trapping-math"="true" "probe-stack"="inline-asm" "stack-protector-buffer-size"="8" "target-cpu"="x86-64-v3" "target-features"="+avx,+avx2,+bmi,+bmi2,+cmov,+crc32,+cx16,+cx8,+f16c,+fma,+fxsr,+lzcnt,+mmx,+movbe,+popcnt,+sahf,+sse,+sse2,+sse3,+sse4.1,+sse4.2,+ssse3,+x87,+xsave" }
attributes #1 = { nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #2 = { noinline nounwind null_pointer_is_valid safestack "min-legal-vector-width"="0" "no-trapping-math"="true" "probe-stack"="inline-asm" "stack-protector-buffer-size"="8" "target-cpu"="x86-64-v3" "target-features"="+avx,+avx2,+bmi,+bmi2,+cmov,+crc32,+cx16,+cx8,+f16c,+fma,+fxsr,+lzcnt,+mmx,+movbe,+popcnt,+sahf,+sse,+sse2,+sse3,+sse4.1,+sse4.2,+ssse3,+x87,+xsave" }
attributes #3 = { nocallback nofree nounwind willreturn memory(argmem: readwrite) }
attributes #4 = { convergent nounwind null_pointer_is_valid "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="x86-64-v3" "target-features"="+avx,+avx2,+bmi,+bmi2,+cmov,+crc32,+cx16,+cx8,+f16c,+fma,+fxsr,+lzcnt,+mmx,+movbe,+popcnt,+sahf,+sse,+sse2,+sse3,+sse4.1,+sse4.2,+ssse3,+x87,+xsave" }
attributes #5 = { nounwind }
attributes #6 = { convergent nounwind }

!llvm.module.flags = !{!0, !1, !2}
!llvm.ident = !{!3}

!0 = !{i32 1, !"wchar_size", i32 4}
!1 = !{i32 4, !"probe-stack", !"inline-asm"}
!2 = !{i32 8, !"PIC Level", i32 2}
!3 = !{!"clang"}
!4 = !{i8 0, i8 2}
!5 = !{}

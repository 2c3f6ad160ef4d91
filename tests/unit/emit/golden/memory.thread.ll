target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

%struct.Mixed = type { i8, i16, i64, [3 x float] }

@_ZL5table = internal unnamed_addr constant [4 x float] [float 1.000000e+00, float 2.000000e+00, float 4.000000e+00, float 8.000000e+00], align 16
@_ZL5cells = internal thread_local unnamed_addr global [64 x i32] zeroinitializer, align 16

; Function Attrs: nounwind null_pointer_is_valid safestack
define void @openmps_thread(ptr noundef readonly captures(none) %0, ptr noundef readnone captures(none) %1, i32 noundef %2, i32 noundef %3, i32 noundef %4, i32 noundef %5, i32 noundef %6) local_unnamed_addr #0 {
  %8 = alloca [8 x i32], align 16
  %9 = load ptr, ptr %0, align 1
  %10 = load ptr, ptr %9, align 1
  %11 = getelementptr inbounds nuw i8, ptr %9, i64 8
  %12 = load ptr, ptr %11, align 1
  %13 = getelementptr inbounds nuw i8, ptr %9, i64 16
  %14 = load ptr, ptr %13, align 1
  %15 = getelementptr inbounds nuw i8, ptr %9, i64 24
  %16 = load ptr, ptr %15, align 1
  %17 = getelementptr inbounds nuw i8, ptr %9, i64 32
  %18 = load ptr, ptr %17, align 1
  %19 = getelementptr inbounds nuw i8, ptr %9, i64 40
  %20 = load ptr, ptr %19, align 1
  %21 = getelementptr inbounds nuw i8, ptr %9, i64 48
  %22 = load ptr, ptr %21, align 1
  %23 = getelementptr inbounds nuw i8, ptr %9, i64 56
  %24 = load ptr, ptr %23, align 1
  %25 = getelementptr inbounds nuw i8, ptr %9, i64 64
  %26 = load ptr, ptr %25, align 1
  %27 = zext i32 %2 to i64
  %28 = getelementptr inbounds nuw %struct.Mixed, ptr %12, i64 %27
  %.sroa.0.0.copyload.i = load i8, ptr %28, align 1
  %.sroa.56.0..sroa_idx.i = getelementptr inbounds nuw i8, ptr %28, i64 2
  %.sroa.56.0.copyload.i = load i16, ptr %.sroa.56.0..sroa_idx.i, align 1
  %.sroa.67.0..sroa_idx.i = getelementptr inbounds nuw i8, ptr %28, i64 8
  %.sroa.67.0.copyload.i = load i64, ptr %.sroa.67.0..sroa_idx.i, align 1
  %.sroa.78.0..sroa_idx.i = getelementptr inbounds nuw i8, ptr %28, i64 24
  %.sroa.78.0.copyload.i = load float, ptr %.sroa.78.0..sroa_idx.i, align 1
  %29 = add i32 %2, 1
  %30 = zext i32 %29 to i64
  %31 = getelementptr inbounds nuw %struct.Mixed, ptr %12, i64 %30
  %32 = and i32 %2, 3
  %33 = zext nneg i32 %32 to i64
  %34 = getelementptr inbounds nuw float, ptr @_ZL5table, i64 %33
  %35 = load float, ptr %34, align 4
  %36 = fadd float %.sroa.78.0.copyload.i, %35
  %37 = getelementptr inbounds nuw i8, ptr %31, i64 16
  %38 = and i32 %2, 1
  %39 = zext nneg i32 %38 to i64
  %40 = getelementptr inbounds nuw float, ptr %37, i64 %39
  store float %36, ptr %40, align 1
  %41 = getelementptr inbounds nuw i8, ptr %10, i64 %27
  %42 = load i8, ptr %41, align 1
  %43 = sext i8 %42 to i16
  %44 = add i16 %.sroa.56.0.copyload.i, %43
  %45 = getelementptr inbounds nuw i8, ptr %31, i64 2
  store i16 %44, ptr %45, align 1
  %46 = getelementptr inbounds nuw <4 x float>, ptr %14, i64 %30
  %47 = load <4 x float>, ptr %46, align 1
  %48 = shufflevector <4 x float> %47, <4 x float> poison, <4 x i32> <i32 3, i32 2, i32 1, i32 0>
  %49 = sitofp i8 %.sroa.0.0.copyload.i to float
  %50 = insertelement <4 x float> poison, float %49, i64 0
  %51 = shufflevector <4 x float> %50, <4 x float> poison, <4 x i32> zeroinitializer
  %52 = fmul <4 x float> %51, %48
  %53 = getelementptr inbounds nuw <4 x float>, ptr %14, i64 %27
  store <4 x float> %52, ptr %53, align 1
  %54 = getelementptr inbounds nuw double, ptr %18, i64 %27
  %55 = load double, ptr %54, align 1
  %56 = fptrunc double %55 to half
  %57 = getelementptr inbounds nuw half, ptr %16, i64 %27
  %58 = load half, ptr %57, align 1
  %59 = fadd half %58, %56
  store half %59, ptr %57, align 1
  %60 = getelementptr inbounds nuw bfloat, ptr %24, i64 %30
  %61 = load bfloat, ptr %60, align 1
  %62 = getelementptr inbounds nuw bfloat, ptr %24, i64 %27
  store bfloat %61, ptr %62, align 1
  %63 = getelementptr inbounds nuw i8, ptr %20, i64 %30
  %64 = load i8, ptr %63, align 1, !range !4, !noundef !5
  %65 = xor i8 %64, 1
  %66 = getelementptr inbounds nuw i8, ptr %20, i64 %27
  store i8 %65, ptr %66, align 1
  %67 = getelementptr inbounds nuw i32, ptr %26, i64 %30
  %68 = load volatile i32, ptr %67, align 1
  %69 = getelementptr inbounds nuw i32, ptr %26, i64 %27
  store volatile i32 %68, ptr %69, align 1
  call void @llvm.lifetime.start.p0(ptr nonnull %8) #5
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 16 dereferenceable(32) %8, i8 0, i64 32, i1 false)
  %70 = and i8 %.sroa.0.0.copyload.i, 7
  %71 = zext nneg i8 %70 to i32
  %72 = xor i32 %71, 1
  %73 = zext nneg i32 %72 to i64
  %74 = getelementptr inbounds nuw i32, ptr %8, i64 %73
  store i32 1, ptr %74, align 4
  %75 = xor i32 %71, 2
  %76 = zext nneg i32 %75 to i64
  %77 = getelementptr inbounds nuw i32, ptr %8, i64 %76
  store i32 2, ptr %77, align 4
  %78 = xor i32 %71, 3
  %79 = zext nneg i32 %78 to i64
  %80 = getelementptr inbounds nuw i32, ptr %8, i64 %79
  store i32 3, ptr %80, align 4
  %81 = xor i32 %71, 4
  %82 = zext nneg i32 %81 to i64
  %83 = getelementptr inbounds nuw i32, ptr %8, i64 %82
  store i32 4, ptr %83, align 4
  %84 = xor i32 %71, 5
  %85 = zext nneg i32 %84 to i64
  %86 = getelementptr inbounds nuw i32, ptr %8, i64 %85
  store i32 5, ptr %86, align 4
  %87 = xor i32 %71, 6
  %88 = zext nneg i32 %87 to i64
  %89 = getelementptr inbounds nuw i32, ptr %8, i64 %88
  store i32 6, ptr %89, align 4
  %90 = xor i32 %71, 7
  %91 = zext nneg i32 %90 to i64
  %92 = getelementptr inbounds nuw i32, ptr %8, i64 %91
  store i32 7, ptr %92, align 4
  %93 = and i32 %2, 7
  %94 = zext nneg i32 %93 to i64
  %95 = getelementptr inbounds nuw i32, ptr %8, i64 %94
  %96 = load i32, ptr %95, align 4
  %97 = tail call align 16 ptr @llvm.threadlocal.address.p0(ptr align 1 @_ZL5cells)
  %98 = and i32 %2, 63
  %99 = zext nneg i32 %98 to i64
  %100 = getelementptr inbounds nuw i32, ptr %97, i64 %99
  store i32 %96, ptr %100, align 4
  tail call void @openmps_threadgroup_barrier() #6
  %101 = xor i32 %98, 63
  %102 = zext nneg i32 %101 to i64
  %103 = getelementptr inbounds nuw i32, ptr %97, i64 %102
  %104 = load i32, ptr %103, align 4
  %105 = getelementptr inbounds nuw ptr, ptr %22, i64 %27
  %106 = load ptr, ptr %105, align 1
  store i32 %104, ptr %106, align 1
  store i64 %.sroa.67.0.copyload.i, ptr %41, align 1
  call void @llvm.lifetime.end.p0(ptr nonnull %8) #5
  ret void
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.start.p0(ptr captures(none)) #1

; Function Attrs: mustprogress nocallback nofree nounwind willreturn memory(argmem: write)
declare void @llvm.memset.p0.i64(ptr writeonly captures(none), i8, i64, i1 immarg) #2

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.end.p0(ptr captures(none)) #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare nonnull ptr @llvm.threadlocal.address.p0(ptr nonnull) #3

; Function Attrs: convergent nounwind null_pointer_is_valid
declare void @openmps_threadgroup_barrier() local_unnamed_addr #4

attributes #0 = { nounwind null_pointer_is_valid safestack "min-legal-vector-width"="0" "no-trapping-math"="true" "probe-stack"="inline-asm" "stack-protector-buffer-size"="8" "target-cpu"="x86-64-v3" "target-features"="+avx,+avx2,+bmi,+bmi2,+cmov,+crc32,+cx16,+cx8,+f16c,+fma,+fxsr,+lzcnt,+mmx,+movbe,+popcnt,+sahf,+sse,+sse2,+sse3,+sse4.1,+sse4.2,+ssse3,+x87,+xsave" }
attributes #1 = { mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #2 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: write) }
attributes #3 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
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

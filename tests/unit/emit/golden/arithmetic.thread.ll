target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

; Function Attrs: nounwind null_pointer_is_valid safestack
define void @openmps_thread(ptr noundef readonly captures(none) %0, ptr noundef readnone captures(none) %1, i32 noundef %2, i32 noundef %3, i32 noundef %4, i32 noundef %5, i32 noundef %6) local_unnamed_addr #0 {
  %8 = load ptr, ptr %0, align 1
  %9 = load ptr, ptr %8, align 1
  %10 = getelementptr inbounds nuw i8, ptr %8, i64 8
  %11 = load ptr, ptr %10, align 1
  %12 = getelementptr inbounds nuw i8, ptr %8, i64 16
  %13 = load ptr, ptr %12, align 1
  %14 = getelementptr inbounds nuw i8, ptr %8, i64 24
  %15 = load ptr, ptr %14, align 1
  %16 = getelementptr inbounds nuw i8, ptr %8, i64 32
  %17 = load ptr, ptr %16, align 1
  %18 = getelementptr inbounds nuw i8, ptr %8, i64 40
  %19 = load ptr, ptr %18, align 1
  %20 = add i32 %2, 1
  %21 = zext i32 %20 to i64
  %22 = getelementptr inbounds nuw i32, ptr %9, i64 %21
  %23 = load i32, ptr %22, align 1
  %24 = add i32 %2, 2
  %25 = zext i32 %24 to i64
  %26 = getelementptr inbounds nuw i32, ptr %9, i64 %25
  %27 = load i32, ptr %26, align 1
  %low.57.i = and i32 %27, 31
  %28 = shl i32 %23, %low.57.i
  %29 = add i32 %2, 3
  %30 = zext i32 %29 to i64
  %31 = getelementptr inbounds nuw i32, ptr %9, i64 %30
  %32 = load i32, ptr %31, align 1
  %33 = zext i32 %2 to i64
  %34 = getelementptr inbounds nuw i32, ptr %11, i64 %33
  %35 = load i32, ptr %34, align 1
  %low.69.i = and i32 %35, 31
  %36 = ashr i32 %32, %low.69.i
  %37 = add i32 %36, %28
  %38 = getelementptr inbounds nuw i32, ptr %11, i64 %21
  %39 = load i32, ptr %38, align 1
  %40 = lshr i32 %39, 3
  %41 = add i32 %37, %40
  %42 = getelementptr inbounds nuw i32, ptr %9, i64 %33
  store i32 %41, ptr %42, align 1
  %43 = getelementptr inbounds nuw i64, ptr %13, i64 %21
  %44 = load i64, ptr %43, align 1
  %45 = and i32 %41, 63
  %low.95.i = zext nneg i32 %45 to i64
  %46 = shl i64 %44, %low.95.i
  %47 = getelementptr inbounds nuw i64, ptr %13, i64 %25
  %48 = load i64, ptr %47, align 1
  %49 = or i64 %48, 1
  %50 = sdiv i64 %46, %49
  %51 = getelementptr inbounds nuw i64, ptr %13, i64 %33
  %52 = load i64, ptr %51, align 1
  %53 = load i32, ptr %34, align 1
  %54 = or i32 %53, 1
  %55 = zext i32 %54 to i64
  %56 = urem i64 %52, %55
  %57 = add i64 %56, %50
  store i64 %57, ptr %51, align 1
  %58 = getelementptr inbounds nuw <4 x i32>, ptr %19, i64 %21
  %59 = load <4 x i32>, ptr %58, align 1
  %60 = getelementptr inbounds nuw <4 x i32>, ptr %19, i64 %25
  %61 = load <4 x i32>, ptr %60, align 1
  %low.134.i = and <4 x i32> %61, splat (i32 31)
  %62 = shl <4 x i32> %59, %low.134.i
  %63 = icmp sgt <4 x i32> %59, %61
  %64 = sext <4 x i1> %63 to <4 x i32>
  %65 = add <4 x i32> %62, %64
  %66 = getelementptr inbounds nuw <4 x i32>, ptr %19, i64 %33
  %67 = load <4 x i32>, ptr %66, align 1
  %68 = shufflevector <4 x i32> %67, <4 x i32> poison, <4 x i32> <i32 3, i32 2, i32 1, i32 0>
  %69 = add <4 x i32> %65, %68
  store <4 x i32> %69, ptr %66, align 1
  %70 = getelementptr inbounds nuw float, ptr %15, i64 %33
  %71 = load float, ptr %70, align 1
  %72 = getelementptr inbounds nuw float, ptr %15, i64 %21
  %73 = load float, ptr %72, align 1
  %74 = fmul reassoc contract float %71, %73
  %75 = getelementptr inbounds nuw float, ptr %15, i64 %25
  %76 = load float, ptr %75, align 1
  %77 = fadd reassoc contract float %74, %76
  store float %77, ptr %70, align 1
  %78 = fneg float %73
  %79 = fcmp ogt float %76, %78
  %80 = tail call float @llvm.fma.f32(float %77, float %73, float 0x3FB99999A0000000)
  %81 = tail call float @llvm.sqrt.f32(float %77)
  %82 = select i1 %79, float %80, float %81
  store float %82, ptr %72, align 1
  store float 0x7FF8000000000000, ptr %75, align 1
  %83 = load i32, ptr %42, align 1
  %84 = sitofp i32 %83 to float
  %85 = load i32, ptr %34, align 1
  %86 = uitofp i32 %85 to float
  %87 = fadd float %84, %86
  %88 = getelementptr inbounds nuw half, ptr %17, i64 %33
  %89 = load half, ptr %88, align 1
  %90 = fpext half %89 to float
  %91 = fadd float %87, %90
  %92 = getelementptr inbounds nuw float, ptr %15, i64 %30
  store float %91, ptr %92, align 1
  %93 = fptrunc float %77 to half
  %94 = getelementptr inbounds nuw half, ptr %17, i64 %21
  %95 = load half, ptr %94, align 1
  %96 = fmul half %95, %93
  %97 = fadd half %96, 0xH2E66
  store half %97, ptr %88, align 1
  %98 = load float, ptr %70, align 1
  %99 = fptoui float %98 to i32
  %100 = load float, ptr %72, align 1
  %101 = fptosi float %100 to i32
  %102 = add i32 %101, %99
  %103 = load i32, ptr %42, align 1
  %104 = and i32 %103, 65535
  %105 = add i32 %102, %104
  store i32 %105, ptr %34, align 1
  %106 = load i32, ptr %42, align 1
  %107 = load i32, ptr %22, align 1
  %108 = tail call { i32, i1 } @llvm.sadd.with.overflow.i32(i32 %106, i32 %107)
  %109 = extractvalue { i32, i1 } %108, 1
  %110 = extractvalue { i32, i1 } %108, 0
  %111 = tail call range(i32 0, 33) i32 @llvm.ctpop.i32(i32 %105)
  %112 = select i1 %109, i32 %110, i32 %111
  store i32 %112, ptr %22, align 1
  %113 = load i32, ptr %34, align 1
  %114 = or i32 %113, 1
  %115 = tail call range(i32 0, 32) i32 @llvm.ctlz.i32(i32 %114, i1 true)
  %116 = tail call i32 @llvm.bswap.i32(i32 %113)
  %117 = tail call i32 @llvm.fshl.i32(i32 %113, i32 %113, i32 %106)
  %118 = add i32 %117, %116
  %119 = add i32 %118, %115
  store i32 %119, ptr %26, align 1
  %120 = tail call i32 @openmps_lane() #4
  %121 = add i32 %120, 8
  store i32 %121, ptr %31, align 1
  ret void
}

; Function Attrs: mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.fma.f32(float, float, float) #1

; Function Attrs: mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.sqrt.f32(float) #1

; Function Attrs: mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare { i32, i1 } @llvm.sadd.with.overflow.i32(i32, i32) #1

; Function Attrs: mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.ctpop.i32(i32) #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.ctlz.i32(i32, i1 immarg) #2

; Function Attrs: mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.bswap.i32(i32) #1

; Function Attrs: mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.fshl.i32(i32, i32, i32) #1

; Function Attrs: convergent nounwind null_pointer_is_valid
declare i32 @openmps_lane() local_unnamed_addr #3

attributes #0 = { nounwind null_pointer_is_valid safestack "min-legal-vector-width"="0" "no-trapping-math"="true" "probe-stack"="inline-asm" "stack-protector-buffer-size"="8" "target-cpu"="x86-64-v3" "target-features"="+avx,+avx2,+bmi,+bmi2,+cmov,+crc32,+cx16,+cx8,+f16c,+fma,+fxsr,+lzcnt,+mmx,+movbe,+popcnt,+sahf,+sse,+sse2,+sse3,+sse4.1,+sse4.2,+ssse3,+x87,+xsave" }
attributes #1 = { mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #3 = { convergent nounwind null_pointer_is_valid "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="x86-64-v3" "target-features"="+avx,+avx2,+bmi,+bmi2,+cmov,+crc32,+cx16,+cx8,+f16c,+fma,+fxsr,+lzcnt,+mmx,+movbe,+popcnt,+sahf,+sse,+sse2,+sse3,+sse4.1,+sse4.2,+ssse3,+x87,+xsave" }
attributes #4 = { convergent nounwind }

!llvm.module.flags = !{!0, !1, !2}
!llvm.ident = !{!3}

!0 = !{i32 1, !"wchar_size", i32 4}
!1 = !{i32 4, !"probe-stack", !"inline-asm"}
!2 = !{i32 8, !"PIC Level", i32 2}
!3 = !{!"clang"}

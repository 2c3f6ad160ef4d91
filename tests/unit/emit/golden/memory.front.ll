target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

%struct.Mixed = type { i8, i16, i64, [3 x float] }
%"struct.openmps::Launch" = type { ptr, [3 x i32], [3 x i32], [3 x i32], [31 x i32] }

@_ZL5table = internal constant [4 x float] [float 1.000000e+00, float 2.000000e+00, float 4.000000e+00, float 8.000000e+00], align 16
@_ZL5cells = internal thread_local global [64 x i32] zeroinitializer, align 16

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
  %10 = alloca ptr, align 8
  %11 = alloca ptr, align 8
  %12 = alloca ptr, align 8
  %13 = alloca ptr, align 8
  %14 = alloca ptr, align 8
  %15 = alloca ptr, align 8
  %16 = alloca %struct.Mixed, align 8
  %17 = alloca ptr, align 8
  %18 = alloca [8 x i32], align 16
  %19 = alloca i32, align 4
  store ptr %0, ptr %4, align 8
  store ptr %1, ptr %5, align 8
  store i32 %2, ptr %6, align 4
  call void @llvm.lifetime.start.p0(ptr %7) #6
  %20 = load ptr, ptr %4, align 8
  %21 = getelementptr inbounds nuw %"struct.openmps::Launch", ptr %20, i32 0, i32 0
  %22 = load ptr, ptr %21, align 8
  %23 = getelementptr inbounds ptr, ptr %22, i64 0
  %24 = load ptr, ptr %23, align 8
  store ptr %24, ptr %7, align 8
  call void @llvm.lifetime.start.p0(ptr %8) #6
  %25 = load ptr, ptr %4, align 8
  %26 = getelementptr inbounds nuw %"struct.openmps::Launch", ptr %25, i32 0, i32 0
  %27 = load ptr, ptr %26, align 8
  %28 = getelementptr inbounds ptr, ptr %27, i64 1
  %29 = load ptr, ptr %28, align 8
  store ptr %29, ptr %8, align 8
  call void @llvm.lifetime.start.p0(ptr %9) #6
  %30 = load ptr, ptr %4, align 8
  %31 = getelementptr inbounds nuw %"struct.openmps::Launch", ptr %30, i32 0, i32 0
  %32 = load ptr, ptr %31, align 8
  %33 = getelementptr inbounds ptr, ptr %32, i64 2
  %34 = load ptr, ptr %33, align 8
  store ptr %34, ptr %9, align 8
  call void @llvm.lifetime.start.p0(ptr %10) #6
  %35 = load ptr, ptr %4, align 8
  %36 = getelementptr inbounds nuw %"struct.openmps::Launch", ptr %35, i32 0, i32 0
  %37 = load ptr, ptr %36, align 8
  %38 = getelementptr inbounds ptr, ptr %37, i64 3
  %39 = load ptr, ptr %38, align 8
  store ptr %39, ptr %10, align 8
  call void @llvm.lifetime.start.p0(ptr %11) #6
  %40 = load ptr, ptr %4, align 8
  %41 = getelementptr inbounds nuw %"struct.openmps::Launch", ptr %40, i32 0, i32 0
  %42 = load ptr, ptr %41, align 8
  %43 = getelementptr inbounds ptr, ptr %42, i64 4
  %44 = load ptr, ptr %43, align 8
  store ptr %44, ptr %11, align 8
  call void @llvm.lifetime.start.p0(ptr %12) #6
  %45 = load ptr, ptr %4, align 8
  %46 = getelementptr inbounds nuw %"struct.openmps::Launch", ptr %45, i32 0, i32 0
  %47 = load ptr, ptr %46, align 8
  %48 = getelementptr inbounds ptr, ptr %47, i64 5
  %49 = load ptr, ptr %48, align 8
  store ptr %49, ptr %12, align 8
  call void @llvm.lifetime.start.p0(ptr %13) #6
  %50 = load ptr, ptr %4, align 8
  %51 = getelementptr inbounds nuw %"struct.openmps::Launch", ptr %50, i32 0, i32 0
  %52 = load ptr, ptr %51, align 8
  %53 = getelementptr inbounds ptr, ptr %52, i64 6
  %54 = load ptr, ptr %53, align 8
  store ptr %54, ptr %13, align 8
  call void @llvm.lifetime.start.p0(ptr %14) #6
  %55 = load ptr, ptr %4, align 8
  %56 = getelementptr inbounds nuw %"struct.openmps::Launch", ptr %55, i32 0, i32 0
  %57 = load ptr, ptr %56, align 8
  %58 = getelementptr inbounds ptr, ptr %57, i64 7
  %59 = load ptr, ptr %58, align 8
  store ptr %59, ptr %14, align 8
  call void @llvm.lifetime.start.p0(ptr %15) #6
  %60 = load ptr, ptr %4, align 8
  %61 = getelementptr inbounds nuw %"struct.openmps::Launch", ptr %60, i32 0, i32 0
  %62 = load ptr, ptr %61, align 8
  %63 = getelementptr inbounds ptr, ptr %62, i64 8
  %64 = load ptr, ptr %63, align 8
  store ptr %64, ptr %15, align 8
  call void @llvm.lifetime.start.p0(ptr %16) #6
  %65 = load ptr, ptr %8, align 8
  %66 = load i32, ptr %6, align 4
  %67 = zext i32 %66 to i64
  %68 = getelementptr inbounds nuw %struct.Mixed, ptr %65, i64 %67
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %16, ptr align 8 %68, i64 32, i1 false)
  call void @llvm.lifetime.start.p0(ptr %17) #6
  %69 = load ptr, ptr %8, align 8
  %70 = load i32, ptr %6, align 4
  %71 = add i32 %70, 1
  %72 = zext i32 %71 to i64
  %73 = getelementptr inbounds nuw %struct.Mixed, ptr %69, i64 %72
  store ptr %73, ptr %17, align 8
  %74 = getelementptr inbounds nuw %struct.Mixed, ptr %16, i32 0, i32 3
  %75 = getelementptr inbounds [3 x float], ptr %74, i64 0, i64 2
  %76 = load float, ptr %75, align 8
  %77 = load i32, ptr %6, align 4
  %78 = and i32 %77, 3
  %79 = zext i32 %78 to i64
  %80 = getelementptr inbounds nuw [4 x float], ptr @_ZL5table, i64 0, i64 %79
  %81 = load float, ptr %80, align 4
  %82 = fadd float %76, %81
  %83 = load ptr, ptr %17, align 8, !align !4
  %84 = getelementptr inbounds nuw %struct.Mixed, ptr %83, i32 0, i32 3
  %85 = load i32, ptr %6, align 4
  %86 = and i32 %85, 1
  %87 = zext i32 %86 to i64
  %88 = getelementptr inbounds nuw [3 x float], ptr %84, i64 0, i64 %87
  store float %82, ptr %88, align 4
  %89 = load ptr, ptr %7, align 8
  %90 = load i32, ptr %6, align 4
  %91 = zext i32 %90 to i64
  %92 = getelementptr inbounds nuw i8, ptr %89, i64 %91
  %93 = load i8, ptr %92, align 1
  %94 = sext i8 %93 to i32
  %95 = getelementptr inbounds nuw %struct.Mixed, ptr %16, i32 0, i32 1
  %96 = load i16, ptr %95, align 2
  %97 = sext i16 %96 to i32
  %98 = add i32 %94, %97
  %99 = trunc i32 %98 to i16
  %100 = load ptr, ptr %17, align 8, !align !4
  %101 = getelementptr inbounds nuw %struct.Mixed, ptr %100, i32 0, i32 1
  store i16 %99, ptr %101, align 2
  %102 = load ptr, ptr %9, align 8
  %103 = load i32, ptr %6, align 4
  %104 = add i32 %103, 1
  %105 = zext i32 %104 to i64
  %106 = getelementptr inbounds nuw <4 x float>, ptr %102, i64 %105
  %107 = load <4 x float>, ptr %106, align 16
  %108 = shufflevector <4 x float> %107, <4 x float> poison, <4 x i32> <i32 3, i32 2, i32 1, i32 0>
  %109 = getelementptr inbounds nuw %struct.Mixed, ptr %16, i32 0, i32 0
  %110 = load i8, ptr %109, align 8
  %111 = sitofp i8 %110 to float
  %112 = insertelement <4 x float> poison, float %111, i64 0
  %113 = shufflevector <4 x float> %112, <4 x float> poison, <4 x i32> zeroinitializer
  %114 = fmul <4 x float> %108, %113
  %115 = load ptr, ptr %9, align 8
  %116 = load i32, ptr %6, align 4
  %117 = zext i32 %116 to i64
  %118 = getelementptr inbounds nuw <4 x float>, ptr %115, i64 %117
  store <4 x float> %114, ptr %118, align 16
  %119 = load ptr, ptr %11, align 8
  %120 = load i32, ptr %6, align 4
  %121 = zext i32 %120 to i64
  %122 = getelementptr inbounds nuw double, ptr %119, i64 %121
  %123 = load double, ptr %122, align 8
  %124 = fptrunc double %123 to half
  %125 = load ptr, ptr %10, align 8
  %126 = load i32, ptr %6, align 4
  %127 = zext i32 %126 to i64
  %128 = getelementptr inbounds nuw half, ptr %125, i64 %127
  %129 = load half, ptr %128, align 2
  %130 = fadd half %129, %124
  store half %130, ptr %128, align 2
  %131 = load ptr, ptr %14, align 8
  %132 = load i32, ptr %6, align 4
  %133 = add i32 %132, 1
  %134 = zext i32 %133 to i64
  %135 = getelementptr inbounds nuw bfloat, ptr %131, i64 %134
  %136 = load bfloat, ptr %135, align 2
  %137 = load ptr, ptr %14, align 8
  %138 = load i32, ptr %6, align 4
  %139 = zext i32 %138 to i64
  %140 = getelementptr inbounds nuw bfloat, ptr %137, i64 %139
  store bfloat %136, ptr %140, align 2
  %141 = load ptr, ptr %12, align 8
  %142 = load i32, ptr %6, align 4
  %143 = add i32 %142, 1
  %144 = zext i32 %143 to i64
  %145 = getelementptr inbounds nuw i8, ptr %141, i64 %144
  %146 = load i8, ptr %145, align 1, !range !5, !noundef !6
  %147 = trunc i8 %146 to i1
  %148 = xor i1 %147, true
  %149 = load ptr, ptr %12, align 8
  %150 = load i32, ptr %6, align 4
  %151 = zext i32 %150 to i64
  %152 = getelementptr inbounds nuw i8, ptr %149, i64 %151
  %153 = zext i1 %148 to i8
  store i8 %153, ptr %152, align 1
  %154 = load ptr, ptr %15, align 8
  %155 = load i32, ptr %6, align 4
  %156 = add i32 %155, 1
  %157 = zext i32 %156 to i64
  %158 = getelementptr inbounds nuw i32, ptr %154, i64 %157
  %159 = load volatile i32, ptr %158, align 4
  %160 = load ptr, ptr %15, align 8
  %161 = load i32, ptr %6, align 4
  %162 = zext i32 %161 to i64
  %163 = getelementptr inbounds nuw i32, ptr %160, i64 %162
  store volatile i32 %159, ptr %163, align 4
  call void @llvm.lifetime.start.p0(ptr %18) #6
  call void @llvm.memset.p0.i64(ptr align 16 %18, i8 0, i64 32, i1 false)
  call void @llvm.lifetime.start.p0(ptr %19) #6
  store i32 0, ptr %19, align 4
  br label %164

164:                                              ; preds = %178, %3
  %165 = load i32, ptr %19, align 4
  %166 = icmp slt i32 %165, 8
  br i1 %166, label %168, label %167

167:                                              ; preds = %164
  call void @llvm.lifetime.end.p0(ptr %19) #6
  br label %181

168:                                              ; preds = %164
  %169 = load i32, ptr %19, align 4
  %170 = load i32, ptr %19, align 4
  %171 = getelementptr inbounds nuw %struct.Mixed, ptr %16, i32 0, i32 0
  %172 = load i8, ptr %171, align 8
  %173 = sext i8 %172 to i32
  %174 = and i32 %173, 7
  %175 = xor i32 %170, %174
  %176 = sext i32 %175 to i64
  %177 = getelementptr inbounds [8 x i32], ptr %18, i64 0, i64 %176
  store i32 %169, ptr %177, align 4
  br label %178

178:                                              ; preds = %168
  %179 = load i32, ptr %19, align 4
  %180 = add i32 %179, 1
  store i32 %180, ptr %19, align 4
  br label %164

181:                                              ; preds = %167
  %182 = load i32, ptr %6, align 4
  %183 = and i32 %182, 7
  %184 = zext i32 %183 to i64
  %185 = getelementptr inbounds nuw [8 x i32], ptr %18, i64 0, i64 %184
  %186 = load i32, ptr %185, align 4
  %187 = call align 16 ptr @llvm.threadlocal.address.p0(ptr align 16 @_ZL5cells)
  %188 = load i32, ptr %6, align 4
  %189 = and i32 %188, 63
  %190 = zext i32 %189 to i64
  %191 = getelementptr inbounds nuw [64 x i32], ptr %187, i64 0, i64 %190
  store i32 %186, ptr %191, align 4
  call void @openmps_threadgroup_barrier() #7
  %192 = call align 16 ptr @llvm.threadlocal.address.p0(ptr align 16 @_ZL5cells)
  %193 = load i32, ptr %6, align 4
  %194 = and i32 %193, 63
  %195 = sub i32 63, %194
  %196 = zext i32 %195 to i64
  %197 = getelementptr inbounds nuw [64 x i32], ptr %192, i64 0, i64 %196
  %198 = load i32, ptr %197, align 4
  %199 = load ptr, ptr %13, align 8
  %200 = load i32, ptr %6, align 4
  %201 = zext i32 %200 to i64
  %202 = getelementptr inbounds nuw ptr, ptr %199, i64 %201
  %203 = load ptr, ptr %202, align 8
  store i32 %198, ptr %203, align 4
  %204 = getelementptr inbounds nuw %struct.Mixed, ptr %16, i32 0, i32 2
  %205 = load i64, ptr %204, align 8
  %206 = load ptr, ptr %7, align 8
  %207 = load i32, ptr %6, align 4
  %208 = zext i32 %207 to i64
  %209 = getelementptr inbounds nuw i8, ptr %206, i64 %208
  store i64 %205, ptr %209, align 8
  call void @llvm.lifetime.end.p0(ptr %18) #6
  call void @llvm.lifetime.end.p0(ptr %17) #6
  call void @llvm.lifetime.end.p0(ptr %16) #6
  call void @llvm.lifetime.end.p0(ptr %15) #6
  call void @llvm.lifetime.end.p0(ptr %14) #6
  call void @llvm.lifetime.end.p0(ptr %13) #6
  call void @llvm.lifetime.end.p0(ptr %12) #6
  call void @llvm.lifetime.end.p0(ptr %11) #6
  call void @llvm.lifetime.end.p0(ptr %10) #6
  call void @llvm.lifetime.end.p0(ptr %9) #6
  call void @llvm.lifetime.end.p0(ptr %8) #6
  call void @llvm.lifetime.end.p0(ptr %7) #6
  ret void
}

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.start.p0(ptr captures(none)) #1

; Function Attrs: nocallback nofree nounwind willreturn memory(argmem: readwrite)
declare void @llvm.memcpy.p0.p0.i64(ptr noalias writeonly captures(none), ptr noalias readonly captures(none), i64, i1 immarg) #2

; Function Attrs: nocallback nofree nounwind willreturn memory(argmem: write)
declare void @llvm.memset.p0.i64(ptr writeonly captures(none), i8, i64, i1 immarg) #3

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.end.p0(ptr captures(none)) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare nonnull ptr @llvm.threadlocal.address.p0(ptr nonnull) #4

; Function Attrs: convergent nounwind null_pointer_is_valid
declare void @openmps_threadgroup_barrier() #5

attributes #0 = { nounwind null_pointer_is_valid safestack "min-legal-vector-width"="0" "no-trapping-math"="true" "probe-stack"="inline-asm" "stack-protector-buffer-size"="8" "target-cpu"="x86-64-v3" "target-features"="+avx,+avx2,+bmi,+bmi2,+cmov,+crc32,+cx16,+cx8,+f16c,+fma,+fxsr,+lzcnt,+mmx,+movbe,+popcnt,+sahf,+sse,+sse2,+sse3,+sse4.1,+sse4.2,+ssse3,+x87,+xsave" }
attributes #1 = { nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #2 = { nocallback nofree nounwind willreturn memory(argmem: readwrite) }
attributes #3 = { nocallback nofree nounwind willreturn memory(argmem: write) }
attributes #4 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #5 = { convergent nounwind null_pointer_is_valid "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="x86-64-v3" "target-features"="+avx,+avx2,+bmi,+bmi2,+cmov,+crc32,+cx16,+cx8,+f16c,+fma,+fxsr,+lzcnt,+mmx,+movbe,+popcnt,+sahf,+sse,+sse2,+sse3,+sse4.1,+sse4.2,+ssse3,+x87,+xsave" }
attributes #6 = { nounwind }
attributes #7 = { convergent nounwind }

!llvm.module.flags = !{!0, !1, !2}
!llvm.ident = !{!3}

!0 = !{i32 1, !"wchar_size", i32 4}
!1 = !{i32 4, !"probe-stack", !"inline-asm"}
!2 = !{i32 8, !"PIC Level", i32 2}
!3 = !{!"clang"}
!4 = !{i64 8}
!5 = !{i8 0, i8 2}
!6 = !{}

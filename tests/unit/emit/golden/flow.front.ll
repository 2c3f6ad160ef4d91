target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

%"struct.openmps::Launch" = type { ptr, [3 x i32], [3 x i32], [3 x i32], [31 x i32] }
%"struct.openmps::Threadgroup" = type { [3 x i32], [3 x i32], i32, i32, ptr }

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
  %9 = alloca i32, align 4
  %10 = alloca i32, align 4
  %11 = alloca i32, align 4
  store ptr %0, ptr %4, align 8
  store ptr %1, ptr %5, align 8
  store i32 %2, ptr %6, align 4
  call void @llvm.lifetime.start.p0(ptr %7) #3
  %12 = load ptr, ptr %4, align 8
  %13 = getelementptr inbounds nuw %"struct.openmps::Launch", ptr %12, i32 0, i32 0
  %14 = load ptr, ptr %13, align 8
  %15 = getelementptr inbounds ptr, ptr %14, i64 0
  %16 = load ptr, ptr %15, align 8
  store ptr %16, ptr %7, align 8
  call void @llvm.lifetime.start.p0(ptr %8) #3
  %17 = load ptr, ptr %4, align 8
  %18 = getelementptr inbounds nuw %"struct.openmps::Launch", ptr %17, i32 0, i32 0
  %19 = load ptr, ptr %18, align 8
  %20 = getelementptr inbounds ptr, ptr %19, i64 1
  %21 = load ptr, ptr %20, align 8
  store ptr %21, ptr %8, align 8
  %22 = load i32, ptr %6, align 4
  %23 = load ptr, ptr %5, align 8
  %24 = getelementptr inbounds nuw %"struct.openmps::Threadgroup", ptr %23, i32 0, i32 2
  %25 = load i32, ptr %24, align 8
  %26 = icmp ugt i32 %22, %25
  br i1 %26, label %27, label %28

27:                                               ; preds = %3
  store i32 1, ptr %9, align 4
  br label %160

28:                                               ; preds = %3
  call void @llvm.lifetime.start.p0(ptr %10) #3
  store i32 0, ptr %10, align 4
  call void @llvm.lifetime.start.p0(ptr %11) #3
  store i32 0, ptr %11, align 4
  br label %29

29:                                               ; preds = %72, %28
  %30 = load i32, ptr %11, align 4
  %31 = load ptr, ptr %7, align 8
  %32 = load i32, ptr %6, align 4
  %33 = zext i32 %32 to i64
  %34 = getelementptr inbounds nuw i32, ptr %31, i64 %33
  %35 = load i32, ptr %34, align 4
  %36 = icmp slt i32 %30, %35
  br i1 %36, label %38, label %37

37:                                               ; preds = %29
  store i32 2, ptr %9, align 4
  br label %75

38:                                               ; preds = %29
  %39 = load ptr, ptr %7, align 8
  %40 = load i32, ptr %11, align 4
  %41 = sext i32 %40 to i64
  %42 = getelementptr inbounds i32, ptr %39, i64 %41
  %43 = load i32, ptr %42, align 4
  %44 = icmp eq i32 %43, 7
  br i1 %44, label %45, label %46

45:                                               ; preds = %38
  br label %72

46:                                               ; preds = %38
  %47 = load ptr, ptr %7, align 8
  %48 = load i32, ptr %11, align 4
  %49 = sext i32 %48 to i64
  %50 = getelementptr inbounds i32, ptr %47, i64 %49
  %51 = load i32, ptr %50, align 4
  %52 = icmp slt i32 %51, 0
  br i1 %52, label %53, label %54

53:                                               ; preds = %46
  store i32 2, ptr %9, align 4
  br label %75

54:                                               ; preds = %46
  %55 = load ptr, ptr %7, align 8
  %56 = load i32, ptr %11, align 4
  %57 = sext i32 %56 to i64
  %58 = getelementptr inbounds i32, ptr %55, i64 %57
  %59 = load i32, ptr %58, align 4
  %60 = icmp sgt i32 %59, 100
  br i1 %60, label %61, label %62

61:                                               ; preds = %54
  br label %68

62:                                               ; preds = %54
  %63 = load ptr, ptr %7, align 8
  %64 = load i32, ptr %11, align 4
  %65 = sext i32 %64 to i64
  %66 = getelementptr inbounds i32, ptr %63, i64 %65
  %67 = load i32, ptr %66, align 4
  br label %68

68:                                               ; preds = %62, %61
  %69 = phi i32 [ 100, %61 ], [ %67, %62 ]
  %70 = load i32, ptr %10, align 4
  %71 = add i32 %70, %69
  store i32 %71, ptr %10, align 4
  br label %72

72:                                               ; preds = %68, %45
  %73 = load i32, ptr %11, align 4
  %74 = add i32 %73, 1
  store i32 %74, ptr %11, align 4
  br label %29

75:                                               ; preds = %53, %37
  call void @llvm.lifetime.end.p0(ptr %11) #3
  br label %76

76:                                               ; preds = %75
  %77 = load i32, ptr %10, align 4
  switch i32 %77, label %113 [
    i32 1, label %78
    i32 -2, label %83
    i32 40, label %86
    i32 5, label %98
  ]

78:                                               ; preds = %76
  %79 = load ptr, ptr %8, align 8
  %80 = load i32, ptr %6, align 4
  %81 = zext i32 %80 to i64
  %82 = getelementptr inbounds nuw i32, ptr %79, i64 %81
  store i32 3, ptr %82, align 4
  br label %118

83:                                               ; preds = %76
  %84 = load i32, ptr %10, align 4
  %85 = add i32 %84, 9
  store i32 %85, ptr %10, align 4
  br label %86

86:                                               ; preds = %76, %83
  %87 = load i32, ptr %10, align 4
  %88 = load ptr, ptr %7, align 8
  %89 = load i32, ptr %6, align 4
  %90 = zext i32 %89 to i64
  %91 = getelementptr inbounds nuw i32, ptr %88, i64 %90
  %92 = load i32, ptr %91, align 4
  %93 = mul i32 %87, %92
  %94 = load ptr, ptr %8, align 8
  %95 = load i32, ptr %6, align 4
  %96 = zext i32 %95 to i64
  %97 = getelementptr inbounds nuw i32, ptr %94, i64 %96
  store i32 %93, ptr %97, align 4
  br label %118

98:                                               ; preds = %76
  br label %99

99:                                               ; preds = %106, %98
  %100 = load ptr, ptr %7, align 8
  %101 = load i32, ptr %10, align 4
  %102 = sext i32 %101 to i64
  %103 = getelementptr inbounds i32, ptr %100, i64 %102
  %104 = load i32, ptr %103, align 4
  %105 = icmp ne i32 %104, 0
  br i1 %105, label %106, label %112

106:                                              ; preds = %99
  %107 = load ptr, ptr %7, align 8
  %108 = load i32, ptr %10, align 4
  %109 = sext i32 %108 to i64
  %110 = getelementptr inbounds i32, ptr %107, i64 %109
  %111 = load i32, ptr %110, align 4
  store i32 %111, ptr %10, align 4
  br label %99

112:                                              ; preds = %99
  br label %118

113:                                              ; preds = %76
  %114 = load ptr, ptr %8, align 8
  %115 = load i32, ptr %6, align 4
  %116 = zext i32 %115 to i64
  %117 = getelementptr inbounds nuw i32, ptr %114, i64 %116
  store i32 -1, ptr %117, align 4
  br label %118

118:                                              ; preds = %113, %112, %86, %78
  call void @openmps_simdgroup_barrier() #4
  %119 = load ptr, ptr %7, align 8
  %120 = load i32, ptr %6, align 4
  %121 = zext i32 %120 to i64
  %122 = getelementptr inbounds nuw i32, ptr %119, i64 %121
  %123 = load i32, ptr %122, align 4
  %124 = and i32 %123, 1
  %125 = icmp ne i32 %124, 0
  br i1 %125, label %126, label %139

126:                                              ; preds = %118
  %127 = load i32, ptr %10, align 4
  %128 = call i32 @openmps_reduce_add_u32(i32 noundef %127) #4
  %129 = load i32, ptr %10, align 4
  %130 = icmp sgt i32 %129, 3
  %131 = call i32 @openmps_ballot(i1 noundef zeroext %130) #4
  %132 = add i32 %128, %131
  %133 = load ptr, ptr %8, align 8
  %134 = load i32, ptr %6, align 4
  %135 = zext i32 %134 to i64
  %136 = getelementptr inbounds nuw i32, ptr %133, i64 %135
  %137 = load i32, ptr %136, align 4
  %138 = add i32 %137, %132
  store i32 %138, ptr %136, align 4
  br label %139

139:                                              ; preds = %126, %118
  %140 = load i32, ptr %10, align 4
  %141 = load i32, ptr %6, align 4
  %142 = xor i32 %141, 1
  %143 = call i32 @openmps_shuffle_u32(i32 noundef %140, i32 noundef %142) #4
  %144 = load i32, ptr %10, align 4
  %145 = call i32 @openmps_scan_inclusive_add_u32(i32 noundef %144) #4
  %146 = add i32 %143, %145
  %147 = load ptr, ptr %8, align 8
  %148 = load i32, ptr %6, align 4
  %149 = add i32 %148, 1
  %150 = zext i32 %149 to i64
  %151 = getelementptr inbounds nuw i32, ptr %147, i64 %150
  store i32 %146, ptr %151, align 4
  %152 = load ptr, ptr %7, align 8
  %153 = load i32, ptr %6, align 4
  %154 = zext i32 %153 to i64
  %155 = getelementptr inbounds nuw i32, ptr %152, i64 %154
  %156 = load i32, ptr %155, align 4
  %157 = icmp eq i32 %156, 12345
  br i1 %157, label %158, label %159

158:                                              ; preds = %139
  unreachable

159:                                              ; preds = %139
  call void @llvm.lifetime.end.p0(ptr %10) #3
  store i32 0, ptr %9, align 4
  br label %160

160:                                              ; preds = %159, %27
  call void @llvm.lifetime.end.p0(ptr %8) #3
  call void @llvm.lifetime.end.p0(ptr %7) #3
  %161 = load i32, ptr %9, align 4
  switch i32 %161, label %163 [
    i32 0, label %162
    i32 1, label %162
  ]

162:                                              ; preds = %160, %160
  ret void

163:                                              ; preds = %160
  unreachable
}

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.start.p0(ptr captures(none)) #1

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.end.p0(ptr captures(none)) #1

; Function Attrs: convergent nounwind null_pointer_is_valid
declare void @openmps_simdgroup_barrier() #2

; Function Attrs: convergent nounwind null_pointer_is_valid
declare i32 @openmps_reduce_add_u32(i32 noundef) #2

; Function Attrs: convergent nounwind null_pointer_is_valid
declare i32 @openmps_ballot(i1 noundef zeroext) #2

; Function Attrs: convergent nounwind null_pointer_is_valid
declare i32 @openmps_shuffle_u32(i32 noundef, i32 noundef) #2

; Function Attrs: convergent nounwind null_pointer_is_valid
declare i32 @openmps_scan_inclusive_add_u32(i32 noundef) #2

attributes #0 = { nounwind null_pointer_is_valid safestack "min-legal-vector-width"="0" "no-trapping-math"="true" "probe-stack"="inline-asm" "stack-protector-buffer-size"="8" "target-cpu"="x86-64-v3" "target-features"="+avx,+avx2,+bmi,+bmi2,+cmov,+crc32,+cx16,+cx8,+f16c,+fma,+fxsr,+lzcnt,+mmx,+movbe,+popcnt,+sahf,+sse,+sse2,+sse3,+sse4.1,+sse4.2,+ssse3,+x87,+xsave" }
attributes #1 = { nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #2 = { convergent nounwind null_pointer_is_valid "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="x86-64-v3" "target-features"="+avx,+avx2,+bmi,+bmi2,+cmov,+crc32,+cx16,+cx8,+f16c,+fma,+fxsr,+lzcnt,+mmx,+movbe,+popcnt,+sahf,+sse,+sse2,+sse3,+sse4.1,+sse4.2,+ssse3,+x87,+xsave" }
attributes #3 = { nounwind }
attributes #4 = { convergent nounwind }

!llvm.module.flags = !{!0, !1, !2}
!llvm.ident = !{!3}

!0 = !{i32 1, !"wchar_size", i32 4}
!1 = !{i32 4, !"probe-stack", !"inline-asm"}
!2 = !{i32 8, !"PIC Level", i32 2}
!3 = !{!"clang"}

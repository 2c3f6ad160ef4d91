target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

%"struct.msl::openmps_threadgroup" = type { [256 x i8] }
%"struct.msl::openmps_vector::vec" = type { %"struct.msl::openmps_vector::elements" }
%"struct.msl::openmps_vector::elements" = type { [0 x i64], %union.anon }
%union.anon = type { %struct.anon.18 }
%struct.anon.18 = type { half, half, half, half }
%"struct.msl::Cell" = type { %"struct.msl::openmps_vector::packed_vec", half, %"struct.msl::openmps_vector::vec.24" }
%"struct.msl::openmps_vector::packed_vec" = type { %"struct.msl::openmps_vector::packed_elements" }
%"struct.msl::openmps_vector::packed_elements" = type { float, float, float }
%"struct.msl::openmps_vector::vec.24" = type { %"struct.msl::openmps_vector::elements.25" }
%"struct.msl::openmps_vector::elements.25" = type { [0 x i32], %union.anon.26 }
%union.anon.26 = type { %struct.anon.27 }
%struct.anon.27 = type <{ i8, [0 x <16 x i8>], i8, i8, i8 }>

$_ZN3msl13openmps_entry5zerosE = comdat any

@openmps_max_threads = local_unnamed_addr constant i32 1024, align 4
@_ZN3msl13openmps_entry5zerosE = linkonce_odr local_unnamed_addr constant [256 x i8] zeroinitializer, comdat, align 16
@_ZZN3mslL1fEPNS_4CellEPKNS_14openmps_vector3vecIDF16_Li4EEEPKlRKiPNS_5metal6atomicIiEEPcjjE25openmps_storage_of_shared = internal thread_local global %"struct.msl::openmps_threadgroup" zeroinitializer, align 16
@llvm.compiler.used = appending global [1 x ptr] [ptr @_ZZN3mslL1fEPNS_4CellEPKNS_14openmps_vector3vecIDF16_Li4EEEPKlRKiPNS_5metal6atomicIiEEPcjjE25openmps_storage_of_shared], section "llvm.metadata"

; Function Attrs: nounwind null_pointer_is_valid safestack
define void @openmps_thread(ptr noundef readonly captures(none) %0, ptr noundef readonly captures(none) %1, i32 noundef %2, i32 noundef %3, i32 noundef %4, i32 noundef %5, i32 noundef %6) local_unnamed_addr #0 {
_ZN3msl14openmps_vector10packed_vecIfLi3EEC2ERKNS0_3vecIfLi3EEE.exit:
  %7 = alloca [4 x float], align 16
  %8 = load ptr, ptr %0, align 1
  %9 = load ptr, ptr %8, align 1
  %10 = getelementptr inbounds nuw i8, ptr %8, i64 8
  %11 = load ptr, ptr %10, align 1
  %12 = getelementptr inbounds nuw i8, ptr %8, i64 16
  %13 = load ptr, ptr %12, align 1
  %14 = getelementptr inbounds nuw i8, ptr %8, i64 24
  %15 = load ptr, ptr %14, align 1
  %.not.i = icmp eq ptr %15, null
  %spec.select.i = select i1 %.not.i, ptr @_ZN3msl13openmps_entry5zerosE, ptr %15
  %16 = load i32, ptr %spec.select.i, align 1
  %17 = getelementptr inbounds nuw i8, ptr %8, i64 32
  %18 = load ptr, ptr %17, align 1
  %19 = getelementptr inbounds nuw i8, ptr %8, i64 40
  %20 = load ptr, ptr %19, align 1
  %21 = getelementptr inbounds nuw i8, ptr %0, i64 20
  %22 = load i32, ptr %21, align 1
  %23 = load i32, ptr %1, align 1
  %24 = mul i32 %23, %22
  %25 = add i32 %24, %2
  call void @llvm.lifetime.start.p0(ptr nonnull %7) #4
  %26 = zext i32 %25 to i64
  %27 = getelementptr inbounds nuw %"struct.msl::openmps_vector::vec", ptr %11, i64 %26
  %28 = load half, ptr %27, align 1
  %29 = fpext half %28 to float
  %30 = and i32 %16, 3
  %31 = zext nneg i32 %30 to i64
  %32 = getelementptr inbounds nuw float, ptr %7, i64 %31
  store float %29, ptr %32, align 4
  %33 = getelementptr inbounds nuw i8, ptr %27, i64 2
  %34 = load half, ptr %33, align 1
  %35 = fpext half %34 to float
  %36 = add i32 %16, 1
  %37 = and i32 %36, 3
  %38 = zext nneg i32 %37 to i64
  %39 = getelementptr inbounds nuw float, ptr %7, i64 %38
  store float %35, ptr %39, align 4
  %40 = getelementptr inbounds nuw i8, ptr %27, i64 4
  %41 = load half, ptr %40, align 1
  %42 = fpext half %41 to float
  %43 = and i32 %16, 3
  %44 = xor i32 %43, 2
  %45 = zext nneg i32 %44 to i64
  %46 = getelementptr inbounds nuw float, ptr %7, i64 %45
  store float %42, ptr %46, align 4
  %47 = getelementptr inbounds nuw i8, ptr %27, i64 6
  %48 = load half, ptr %47, align 1
  %49 = fpext half %48 to float
  %50 = add i32 %16, 3
  %51 = and i32 %50, 3
  %52 = zext nneg i32 %51 to i64
  %53 = getelementptr inbounds nuw float, ptr %7, i64 %52
  store float %49, ptr %53, align 4
  %54 = tail call align 16 ptr @llvm.threadlocal.address.p0(ptr align 1 @_ZZN3mslL1fEPNS_4CellEPKNS_14openmps_vector3vecIDF16_Li4EEEPKlRKiPNS_5metal6atomicIiEEPcjjE25openmps_storage_of_shared)
  %55 = load float, ptr %32, align 4
  %56 = and i32 %25, 63
  %57 = zext nneg i32 %56 to i64
  %58 = getelementptr inbounds nuw float, ptr %54, i64 %57
  store float %55, ptr %58, align 4
  tail call void @openmps_threadgroup_barrier() #5
  %59 = zext i32 %5 to i64
  %60 = getelementptr inbounds nuw float, ptr %54, i64 %59
  %61 = load float, ptr %60, align 4
  %62 = load float, ptr %7, align 16
  %63 = getelementptr inbounds nuw i8, ptr %7, i64 4
  %64 = load float, ptr %63, align 4
  %65 = fneg float %64
  %66 = getelementptr inbounds nuw %"struct.msl::Cell", ptr %9, i64 %26
  store float %61, ptr %66, align 1
  %.sroa.564.0..sroa_idx = getelementptr inbounds nuw i8, ptr %66, i64 4
  store float %62, ptr %.sroa.564.0..sroa_idx, align 1
  %.sroa.7.0..sroa_idx = getelementptr inbounds nuw i8, ptr %66, i64 8
  store float %65, ptr %.sroa.7.0..sroa_idx, align 1
  %67 = and i32 %16, 1
  %68 = zext nneg i32 %67 to i64
  %69 = getelementptr inbounds nuw float, ptr %7, i64 %68
  %70 = load float, ptr %69, align 4
  %71 = tail call noundef float @openmps_reduce_add_f32(float noundef %70) #5
  %72 = fptrunc float %71 to half
  %73 = fmul half %72, 0xH2E66
  %74 = getelementptr inbounds nuw i8, ptr %66, i64 12
  store half %73, ptr %74, align 1
  %low.97.i = and i32 %25, 31
  %75 = shl i32 %16, %low.97.i
  %low.101.i = and i32 %5, 31
  %76 = ashr i32 %16, %low.101.i
  %77 = getelementptr inbounds nuw i64, ptr %13, i64 %26
  %78 = load i64, ptr %77, align 1
  %79 = and i32 %16, 63
  %low.110.i = zext nneg i32 %79 to i64
  %80 = ashr i64 %78, %low.110.i
  %81 = trunc i64 %80 to i32
  %82 = getelementptr inbounds nuw i8, ptr %66, i64 16
  %.sroa.557.0.insert.ext = shl i32 %81, 16
  %.sroa.557.0.insert.shift = and i32 %.sroa.557.0.insert.ext, 16711680
  %.sroa.456.0.insert.ext = shl i32 %76, 8
  %.sroa.456.0.insert.shift = and i32 %.sroa.456.0.insert.ext, 65280
  %.sroa.055.0.insert.ext = and i32 %75, 255
  %.sroa.557.0.insert.insert = or disjoint i32 %.sroa.456.0.insert.shift, %.sroa.055.0.insert.ext
  %.sroa.456.0.insert.insert = or disjoint i32 %.sroa.557.0.insert.insert, %.sroa.557.0.insert.shift
  %.sroa.055.0.insert.insert = or disjoint i32 %.sroa.456.0.insert.insert, 16777216
  store i32 %.sroa.055.0.insert.insert, ptr %82, align 1
  %83 = trunc i32 %16 to i16
  %84 = icmp ugt i32 %25, 3
  %85 = icmp slt i16 %83, 2
  %86 = trunc i32 %16 to i1
  %87 = xor i1 %84, %86
  %88 = xor i1 %87, true
  %89 = and i32 %16, 65535
  %90 = add nsw i32 %89, -1
  %accumulator.tr.lcssa.i = select i1 %85, i32 0, i32 %90
  %.tr6.lcssa.i = select i1 %85, i1 %84, i1 %88
  %91 = shl i32 %16, 16
  %92 = ashr exact i32 %91, 16
  %93 = select i1 %85, i32 %92, i32 1
  %94 = sub nsw i32 0, %93
  %95 = select i1 %.tr6.lcssa.i, i32 %93, i32 %94
  %accumulator.ret.tr.i = add nsw i32 %95, %accumulator.tr.lcssa.i
  %96 = getelementptr inbounds nuw i8, ptr %20, i64 %26
  store i32 %accumulator.ret.tr.i, ptr %96, align 1
  %97 = load i64, ptr %77, align 1
  %98 = icmp sgt i64 %97, 4
  br i1 %98, label %99, label %_ZN3mslL1fEPNS_4CellEPKNS_14openmps_vector3vecIDF16_Li4EEEPKlRKiPNS_5metal6atomicIiEEPcjj.exit

99:                                               ; preds = %_ZN3msl14openmps_vector10packed_vecIfLi3EEC2ERKNS0_3vecIfLi3EEE.exit
  %100 = atomicrmw volatile add ptr %18, i32 2 monotonic, align 4
  br label %_ZN3mslL1fEPNS_4CellEPKNS_14openmps_vector3vecIDF16_Li4EEEPKlRKiPNS_5metal6atomicIiEEPcjj.exit

_ZN3mslL1fEPNS_4CellEPKNS_14openmps_vector3vecIDF16_Li4EEEPKlRKiPNS_5metal6atomicIiEEPcjj.exit: ; preds = %_ZN3msl14openmps_vector10packed_vecIfLi3EEC2ERKNS0_3vecIfLi3EEE.exit, %99
  call void @llvm.lifetime.end.p0(ptr nonnull %7) #4
  ret void
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.start.p0(ptr captures(none)) #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.end.p0(ptr captures(none)) #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare nonnull ptr @llvm.threadlocal.address.p0(ptr nonnull) #2

; Function Attrs: convergent nounwind null_pointer_is_valid
declare void @openmps_threadgroup_barrier() local_unnamed_addr #3

; Function Attrs: convergent nounwind null_pointer_is_valid
declare float @openmps_reduce_add_f32(float noundef) local_unnamed_addr #3

attributes #0 = { nounwind null_pointer_is_valid safestack "min-legal-vector-width"="0" "no-trapping-math"="true" "probe-stack"="inline-asm" "stack-protector-buffer-size"="8" "target-cpu"="x86-64-v3" "target-features"="+avx,+avx2,+bmi,+bmi2,+cmov,+crc32,+cx16,+cx8,+f16c,+fma,+fxsr,+lzcnt,+mmx,+movbe,+popcnt,+sahf,+sse,+sse2,+sse3,+sse4.1,+sse4.2,+ssse3,+x87,+xsave" }
attributes #1 = { mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #2 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #3 = { convergent nounwind null_pointer_is_valid "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="x86-64-v3" "target-features"="+avx,+avx2,+bmi,+bmi2,+cmov,+crc32,+cx16,+cx8,+f16c,+fma,+fxsr,+lzcnt,+mmx,+movbe,+popcnt,+sahf,+sse,+sse2,+sse3,+sse4.1,+sse4.2,+ssse3,+x87,+xsave" }
attributes #4 = { nounwind }
attributes #5 = { convergent nounwind }

!llvm.module.flags = !{!0, !1, !2}
!llvm.ident = !{!3}

!0 = !{i32 1, !"wchar_size", i32 4}
!1 = !{i32 4, !"probe-stack", !"inline-asm"}
!2 = !{i32 8, !"PIC Level", i32 2}
!3 = !{!"clang"}

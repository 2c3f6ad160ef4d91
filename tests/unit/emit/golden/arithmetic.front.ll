target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

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
  %10 = alloca ptr, align 8
  %11 = alloca ptr, align 8
  %12 = alloca ptr, align 8
  %13 = alloca i32, align 4
  %14 = alloca i32, align 4
  store ptr %0, ptr %4, align 8
  store ptr %1, ptr %5, align 8
  store i32 %2, ptr %6, align 4
  call void @llvm.lifetime.start.p0(ptr %7) #5
  %15 = load ptr, ptr %4, align 8
  %16 = getelementptr inbounds nuw %"struct.openmps::Launch", ptr %15, i32 0, i32 0
  %17 = load ptr, ptr %16, align 8
  %18 = getelementptr inbounds ptr, ptr %17, i64 0
  %19 = load ptr, ptr %18, align 8
  store ptr %19, ptr %7, align 8
  call void @llvm.lifetime.start.p0(ptr %8) #5
  %20 = load ptr, ptr %4, align 8
  %21 = getelementptr inbounds nuw %"struct.openmps::Launch", ptr %20, i32 0, i32 0
  %22 = load ptr, ptr %21, align 8
  %23 = getelementptr inbounds ptr, ptr %22, i64 1
  %24 = load ptr, ptr %23, align 8
  store ptr %24, ptr %8, align 8
  call void @llvm.lifetime.start.p0(ptr %9) #5
  %25 = load ptr, ptr %4, align 8
  %26 = getelementptr inbounds nuw %"struct.openmps::Launch", ptr %25, i32 0, i32 0
  %27 = load ptr, ptr %26, align 8
  %28 = getelementptr inbounds ptr, ptr %27, i64 2
  %29 = load ptr, ptr %28, align 8
  store ptr %29, ptr %9, align 8
  call void @llvm.lifetime.start.p0(ptr %10) #5
  %30 = load ptr, ptr %4, align 8
  %31 = getelementptr inbounds nuw %"struct.openmps::Launch", ptr %30, i32 0, i32 0
  %32 = load ptr, ptr %31, align 8
  %33 = getelementptr inbounds ptr, ptr %32, i64 3
  %34 = load ptr, ptr %33, align 8
  store ptr %34, ptr %10, align 8
  call void @llvm.lifetime.start.p0(ptr %11) #5
  %35 = load ptr, ptr %4, align 8
  %36 = getelementptr inbounds nuw %"struct.openmps::Launch", ptr %35, i32 0, i32 0
  %37 = load ptr, ptr %36, align 8
  %38 = getelementptr inbounds ptr, ptr %37, i64 4
  %39 = load ptr, ptr %38, align 8
  store ptr %39, ptr %11, align 8
  call void @llvm.lifetime.start.p0(ptr %12) #5
  %40 = load ptr, ptr %4, align 8
  %41 = getelementptr inbounds nuw %"struct.openmps::Launch", ptr %40, i32 0, i32 0
  %42 = load ptr, ptr %41, align 8
  %43 = getelementptr inbounds ptr, ptr %42, i64 5
  %44 = load ptr, ptr %43, align 8
  store ptr %44, ptr %12, align 8
  %45 = load ptr, ptr %7, align 8
  %46 = load i32, ptr %6, align 4
  %47 = add i32 %46, 1
  %48 = zext i32 %47 to i64
  %49 = getelementptr inbounds nuw i32, ptr %45, i64 %48
  %50 = load i32, ptr %49, align 4
  %51 = load ptr, ptr %7, align 8
  %52 = load i32, ptr %6, align 4
  %53 = add i32 %52, 2
  %54 = zext i32 %53 to i64
  %55 = getelementptr inbounds nuw i32, ptr %51, i64 %54
  %56 = load i32, ptr %55, align 4
  %57 = shl i32 %50, %56
  %58 = load ptr, ptr %7, align 8
  %59 = load i32, ptr %6, align 4
  %60 = add i32 %59, 3
  %61 = zext i32 %60 to i64
  %62 = getelementptr inbounds nuw i32, ptr %58, i64 %61
  %63 = load i32, ptr %62, align 4
  %64 = load ptr, ptr %8, align 8
  %65 = load i32, ptr %6, align 4
  %66 = zext i32 %65 to i64
  %67 = getelementptr inbounds nuw i32, ptr %64, i64 %66
  %68 = load i32, ptr %67, align 4
  %69 = ashr i32 %63, %68
  %70 = add i32 %57, %69
  %71 = load ptr, ptr %8, align 8
  %72 = load i32, ptr %6, align 4
  %73 = add i32 %72, 1
  %74 = zext i32 %73 to i64
  %75 = getelementptr inbounds nuw i32, ptr %71, i64 %74
  %76 = load i32, ptr %75, align 4
  %77 = lshr i32 %76, 3
  %78 = add i32 %70, %77
  %79 = load ptr, ptr %7, align 8
  %80 = load i32, ptr %6, align 4
  %81 = zext i32 %80 to i64
  %82 = getelementptr inbounds nuw i32, ptr %79, i64 %81
  store i32 %78, ptr %82, align 4
  %83 = load ptr, ptr %9, align 8
  %84 = load i32, ptr %6, align 4
  %85 = add i32 %84, 1
  %86 = zext i32 %85 to i64
  %87 = getelementptr inbounds nuw i64, ptr %83, i64 %86
  %88 = load i64, ptr %87, align 8
  %89 = load ptr, ptr %7, align 8
  %90 = load i32, ptr %6, align 4
  %91 = zext i32 %90 to i64
  %92 = getelementptr inbounds nuw i32, ptr %89, i64 %91
  %93 = load i32, ptr %92, align 4
  %94 = zext i32 %93 to i64
  %95 = shl i64 %88, %94
  %96 = load ptr, ptr %9, align 8
  %97 = load i32, ptr %6, align 4
  %98 = add i32 %97, 2
  %99 = zext i32 %98 to i64
  %100 = getelementptr inbounds nuw i64, ptr %96, i64 %99
  %101 = load i64, ptr %100, align 8
  %102 = or i64 %101, 1
  %103 = sdiv i64 %95, %102
  %104 = load ptr, ptr %9, align 8
  %105 = load i32, ptr %6, align 4
  %106 = zext i32 %105 to i64
  %107 = getelementptr inbounds nuw i64, ptr %104, i64 %106
  %108 = load i64, ptr %107, align 8
  %109 = load ptr, ptr %8, align 8
  %110 = load i32, ptr %6, align 4
  %111 = zext i32 %110 to i64
  %112 = getelementptr inbounds nuw i32, ptr %109, i64 %111
  %113 = load i32, ptr %112, align 4
  %114 = or i32 %113, 1
  %115 = zext i32 %114 to i64
  %116 = urem i64 %108, %115
  %117 = add i64 %103, %116
  %118 = load ptr, ptr %9, align 8
  %119 = load i32, ptr %6, align 4
  %120 = zext i32 %119 to i64
  %121 = getelementptr inbounds nuw i64, ptr %118, i64 %120
  store i64 %117, ptr %121, align 8
  %122 = load ptr, ptr %12, align 8
  %123 = load i32, ptr %6, align 4
  %124 = add i32 %123, 1
  %125 = zext i32 %124 to i64
  %126 = getelementptr inbounds nuw <4 x i32>, ptr %122, i64 %125
  %127 = load <4 x i32>, ptr %126, align 16
  %128 = load ptr, ptr %12, align 8
  %129 = load i32, ptr %6, align 4
  %130 = add i32 %129, 2
  %131 = zext i32 %130 to i64
  %132 = getelementptr inbounds nuw <4 x i32>, ptr %128, i64 %131
  %133 = load <4 x i32>, ptr %132, align 16
  %134 = shl <4 x i32> %127, %133
  %135 = load ptr, ptr %12, align 8
  %136 = load i32, ptr %6, align 4
  %137 = add i32 %136, 1
  %138 = zext i32 %137 to i64
  %139 = getelementptr inbounds nuw <4 x i32>, ptr %135, i64 %138
  %140 = load <4 x i32>, ptr %139, align 16
  %141 = load ptr, ptr %12, align 8
  %142 = load i32, ptr %6, align 4
  %143 = add i32 %142, 2
  %144 = zext i32 %143 to i64
  %145 = getelementptr inbounds nuw <4 x i32>, ptr %141, i64 %144
  %146 = load <4 x i32>, ptr %145, align 16
  %147 = icmp sgt <4 x i32> %140, %146
  %148 = sext <4 x i1> %147 to <4 x i32>
  %149 = add <4 x i32> %134, %148
  %150 = load ptr, ptr %12, align 8
  %151 = load i32, ptr %6, align 4
  %152 = zext i32 %151 to i64
  %153 = getelementptr inbounds nuw <4 x i32>, ptr %150, i64 %152
  %154 = load <4 x i32>, ptr %153, align 16
  %155 = shufflevector <4 x i32> %154, <4 x i32> poison, <4 x i32> <i32 3, i32 2, i32 1, i32 0>
  %156 = add <4 x i32> %149, %155
  %157 = load ptr, ptr %12, align 8
  %158 = load i32, ptr %6, align 4
  %159 = zext i32 %158 to i64
  %160 = getelementptr inbounds nuw <4 x i32>, ptr %157, i64 %159
  store <4 x i32> %156, ptr %160, align 16
  %161 = load ptr, ptr %10, align 8
  %162 = load i32, ptr %6, align 4
  %163 = zext i32 %162 to i64
  %164 = getelementptr inbounds nuw float, ptr %161, i64 %163
  %165 = load float, ptr %164, align 4
  %166 = load ptr, ptr %10, align 8
  %167 = load i32, ptr %6, align 4
  %168 = add i32 %167, 1
  %169 = zext i32 %168 to i64
  %170 = getelementptr inbounds nuw float, ptr %166, i64 %169
  %171 = load float, ptr %170, align 4
  %172 = fmul reassoc contract float %165, %171
  %173 = load ptr, ptr %10, align 8
  %174 = load i32, ptr %6, align 4
  %175 = add i32 %174, 2
  %176 = zext i32 %175 to i64
  %177 = getelementptr inbounds nuw float, ptr %173, i64 %176
  %178 = load float, ptr %177, align 4
  %179 = fadd reassoc contract float %172, %178
  %180 = load ptr, ptr %10, align 8
  %181 = load i32, ptr %6, align 4
  %182 = zext i32 %181 to i64
  %183 = getelementptr inbounds nuw float, ptr %180, i64 %182
  store float %179, ptr %183, align 4
  %184 = load ptr, ptr %10, align 8
  %185 = load i32, ptr %6, align 4
  %186 = add i32 %185, 1
  %187 = zext i32 %186 to i64
  %188 = getelementptr inbounds nuw float, ptr %184, i64 %187
  %189 = load float, ptr %188, align 4
  %190 = fneg float %189
  %191 = load ptr, ptr %10, align 8
  %192 = load i32, ptr %6, align 4
  %193 = add i32 %192, 2
  %194 = zext i32 %193 to i64
  %195 = getelementptr inbounds nuw float, ptr %191, i64 %194
  %196 = load float, ptr %195, align 4
  %197 = fcmp olt float %190, %196
  br i1 %197, label %198, label %211

198:                                              ; preds = %3
  %199 = load ptr, ptr %10, align 8
  %200 = load i32, ptr %6, align 4
  %201 = zext i32 %200 to i64
  %202 = getelementptr inbounds nuw float, ptr %199, i64 %201
  %203 = load float, ptr %202, align 4
  %204 = load ptr, ptr %10, align 8
  %205 = load i32, ptr %6, align 4
  %206 = add i32 %205, 1
  %207 = zext i32 %206 to i64
  %208 = getelementptr inbounds nuw float, ptr %204, i64 %207
  %209 = load float, ptr %208, align 4
  %210 = call float @llvm.fma.f32(float %203, float %209, float 0x3FB99999A0000000)
  br label %218

211:                                              ; preds = %3
  %212 = load ptr, ptr %10, align 8
  %213 = load i32, ptr %6, align 4
  %214 = zext i32 %213 to i64
  %215 = getelementptr inbounds nuw float, ptr %212, i64 %214
  %216 = load float, ptr %215, align 4
  %217 = call float @llvm.sqrt.f32(float %216)
  br label %218

218:                                              ; preds = %211, %198
  %219 = phi float [ %210, %198 ], [ %217, %211 ]
  %220 = load ptr, ptr %10, align 8
  %221 = load i32, ptr %6, align 4
  %222 = add i32 %221, 1
  %223 = zext i32 %222 to i64
  %224 = getelementptr inbounds nuw float, ptr %220, i64 %223
  store float %219, ptr %224, align 4
  %225 = load ptr, ptr %10, align 8
  %226 = load i32, ptr %6, align 4
  %227 = add i32 %226, 2
  %228 = zext i32 %227 to i64
  %229 = getelementptr inbounds nuw float, ptr %225, i64 %228
  %230 = load float, ptr %229, align 4
  %231 = call float @llvm.minnum.f32(float %230, float 0x7FF0000000000000)
  %232 = load ptr, ptr %10, align 8
  %233 = load i32, ptr %6, align 4
  %234 = zext i32 %233 to i64
  %235 = getelementptr inbounds nuw float, ptr %232, i64 %234
  %236 = load float, ptr %235, align 4
  %237 = call float @llvm.exp.f32(float %236)
  %238 = fadd float %231, %237
  %239 = fadd float %238, 0x7FF8000000000000
  %240 = load ptr, ptr %10, align 8
  %241 = load i32, ptr %6, align 4
  %242 = add i32 %241, 2
  %243 = zext i32 %242 to i64
  %244 = getelementptr inbounds nuw float, ptr %240, i64 %243
  store float %239, ptr %244, align 4
  %245 = load ptr, ptr %7, align 8
  %246 = load i32, ptr %6, align 4
  %247 = zext i32 %246 to i64
  %248 = getelementptr inbounds nuw i32, ptr %245, i64 %247
  %249 = load i32, ptr %248, align 4
  %250 = sitofp i32 %249 to float
  %251 = load ptr, ptr %8, align 8
  %252 = load i32, ptr %6, align 4
  %253 = zext i32 %252 to i64
  %254 = getelementptr inbounds nuw i32, ptr %251, i64 %253
  %255 = load i32, ptr %254, align 4
  %256 = uitofp i32 %255 to float
  %257 = fadd float %250, %256
  %258 = load ptr, ptr %11, align 8
  %259 = load i32, ptr %6, align 4
  %260 = zext i32 %259 to i64
  %261 = getelementptr inbounds nuw half, ptr %258, i64 %260
  %262 = load half, ptr %261, align 2
  %263 = fpext half %262 to float
  %264 = fadd float %257, %263
  %265 = load ptr, ptr %10, align 8
  %266 = load i32, ptr %6, align 4
  %267 = add i32 %266, 3
  %268 = zext i32 %267 to i64
  %269 = getelementptr inbounds nuw float, ptr %265, i64 %268
  store float %264, ptr %269, align 4
  %270 = load ptr, ptr %10, align 8
  %271 = load i32, ptr %6, align 4
  %272 = zext i32 %271 to i64
  %273 = getelementptr inbounds nuw float, ptr %270, i64 %272
  %274 = load float, ptr %273, align 4
  %275 = fptrunc float %274 to half
  %276 = load ptr, ptr %11, align 8
  %277 = load i32, ptr %6, align 4
  %278 = add i32 %277, 1
  %279 = zext i32 %278 to i64
  %280 = getelementptr inbounds nuw half, ptr %276, i64 %279
  %281 = load half, ptr %280, align 2
  %282 = fmul half %275, %281
  %283 = fadd half %282, 0xH2E66
  %284 = load ptr, ptr %11, align 8
  %285 = load i32, ptr %6, align 4
  %286 = zext i32 %285 to i64
  %287 = getelementptr inbounds nuw half, ptr %284, i64 %286
  store half %283, ptr %287, align 2
  %288 = load ptr, ptr %10, align 8
  %289 = load i32, ptr %6, align 4
  %290 = zext i32 %289 to i64
  %291 = getelementptr inbounds nuw float, ptr %288, i64 %290
  %292 = load float, ptr %291, align 4
  %293 = fptoui float %292 to i32
  %294 = load ptr, ptr %10, align 8
  %295 = load i32, ptr %6, align 4
  %296 = add i32 %295, 1
  %297 = zext i32 %296 to i64
  %298 = getelementptr inbounds nuw float, ptr %294, i64 %297
  %299 = load float, ptr %298, align 4
  %300 = fptosi float %299 to i32
  %301 = add i32 %293, %300
  %302 = load ptr, ptr %7, align 8
  %303 = load i32, ptr %6, align 4
  %304 = zext i32 %303 to i64
  %305 = getelementptr inbounds nuw i32, ptr %302, i64 %304
  %306 = load i32, ptr %305, align 4
  %307 = trunc i32 %306 to i16
  %308 = zext i16 %307 to i32
  %309 = add i32 %301, %308
  %310 = load ptr, ptr %8, align 8
  %311 = load i32, ptr %6, align 4
  %312 = zext i32 %311 to i64
  %313 = getelementptr inbounds nuw i32, ptr %310, i64 %312
  store i32 %309, ptr %313, align 4
  call void @llvm.lifetime.start.p0(ptr %13) #5
  %314 = load ptr, ptr %7, align 8
  %315 = load i32, ptr %6, align 4
  %316 = zext i32 %315 to i64
  %317 = getelementptr inbounds nuw i32, ptr %314, i64 %316
  %318 = load i32, ptr %317, align 4
  %319 = load ptr, ptr %7, align 8
  %320 = load i32, ptr %6, align 4
  %321 = add i32 %320, 1
  %322 = zext i32 %321 to i64
  %323 = getelementptr inbounds nuw i32, ptr %319, i64 %322
  %324 = load i32, ptr %323, align 4
  %325 = call { i32, i1 } @llvm.sadd.with.overflow.i32(i32 %318, i32 %324)
  %326 = extractvalue { i32, i1 } %325, 1
  %327 = extractvalue { i32, i1 } %325, 0
  store i32 %327, ptr %13, align 4
  br i1 %326, label %328, label %330

328:                                              ; preds = %218
  %329 = load i32, ptr %13, align 4
  br label %337

330:                                              ; preds = %218
  %331 = load ptr, ptr %8, align 8
  %332 = load i32, ptr %6, align 4
  %333 = zext i32 %332 to i64
  %334 = getelementptr inbounds nuw i32, ptr %331, i64 %333
  %335 = load i32, ptr %334, align 4
  %336 = call i32 @llvm.ctpop.i32(i32 %335)
  br label %337

337:                                              ; preds = %330, %328
  %338 = phi i32 [ %329, %328 ], [ %336, %330 ]
  %339 = load ptr, ptr %7, align 8
  %340 = load i32, ptr %6, align 4
  %341 = add i32 %340, 1
  %342 = zext i32 %341 to i64
  %343 = getelementptr inbounds nuw i32, ptr %339, i64 %342
  store i32 %338, ptr %343, align 4
  %344 = load ptr, ptr %8, align 8
  %345 = load i32, ptr %6, align 4
  %346 = zext i32 %345 to i64
  %347 = getelementptr inbounds nuw i32, ptr %344, i64 %346
  %348 = load i32, ptr %347, align 4
  %349 = or i32 %348, 1
  %350 = call i32 @llvm.ctlz.i32(i32 %349, i1 true)
  %351 = load ptr, ptr %8, align 8
  %352 = load i32, ptr %6, align 4
  %353 = zext i32 %352 to i64
  %354 = getelementptr inbounds nuw i32, ptr %351, i64 %353
  %355 = load i32, ptr %354, align 4
  %356 = call i32 @llvm.bswap.i32(i32 %355)
  %357 = add i32 %350, %356
  %358 = load ptr, ptr %8, align 8
  %359 = load i32, ptr %6, align 4
  %360 = zext i32 %359 to i64
  %361 = getelementptr inbounds nuw i32, ptr %358, i64 %360
  %362 = load i32, ptr %361, align 4
  %363 = load ptr, ptr %7, align 8
  %364 = load i32, ptr %6, align 4
  %365 = zext i32 %364 to i64
  %366 = getelementptr inbounds nuw i32, ptr %363, i64 %365
  %367 = load i32, ptr %366, align 4
  %368 = call i32 @llvm.fshl.i32(i32 %362, i32 %362, i32 %367)
  %369 = add i32 %357, %368
  %370 = load ptr, ptr %7, align 8
  %371 = load i32, ptr %6, align 4
  %372 = add i32 %371, 2
  %373 = zext i32 %372 to i64
  %374 = getelementptr inbounds nuw i32, ptr %370, i64 %373
  store i32 %369, ptr %374, align 4
  call void @llvm.lifetime.start.p0(ptr %14) #5
  %375 = load ptr, ptr %7, align 8
  %376 = load i32, ptr %6, align 4
  %377 = zext i32 %376 to i64
  %378 = getelementptr inbounds nuw i32, ptr %375, i64 %377
  %379 = load i32, ptr %378, align 4
  %380 = icmp sgt i32 %379, 3
  br i1 %380, label %381, label %382

381:                                              ; preds = %337
  store i32 8, ptr %14, align 4
  br label %382

382:                                              ; preds = %381, %337
  %383 = load i32, ptr %14, align 4
  %384 = call i32 @openmps_lane() #6
  %385 = add i32 %383, %384
  %386 = load ptr, ptr %7, align 8
  %387 = load i32, ptr %6, align 4
  %388 = add i32 %387, 3
  %389 = zext i32 %388 to i64
  %390 = getelementptr inbounds nuw i32, ptr %386, i64 %389
  store i32 %385, ptr %390, align 4
  call void @llvm.lifetime.end.p0(ptr %14) #5
  call void @llvm.lifetime.end.p0(ptr %13) #5
  call void @llvm.lifetime.end.p0(ptr %12) #5
  call void @llvm.lifetime.end.p0(ptr %11) #5
  call void @llvm.lifetime.end.p0(ptr %10) #5
  call void @llvm.lifetime.end.p0(ptr %9) #5
  call void @llvm.lifetime.end.p0(ptr %8) #5
  call void @llvm.lifetime.end.p0(ptr %7) #5
  ret void
}

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.start.p0(ptr captures(none)) #1

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.fma.f32(float, float, float) #2

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.sqrt.f32(float) #2

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.minnum.f32(float, float) #2

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.exp.f32(float) #2

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare { i32, i1 } @llvm.sadd.with.overflow.i32(i32, i32) #2

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.ctpop.i32(i32) #2

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.ctlz.i32(i32, i1 immarg) #3

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.bswap.i32(i32) #2

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.fshl.i32(i32, i32, i32) #2

; Function Attrs: convergent nounwind null_pointer_is_valid
declare i32 @openmps_lane() #4

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.end.p0(ptr captures(none)) #1

attributes #0 = { nounwind null_pointer_is_valid safestack "min-legal-vector-width"="0" "no-trapping-math"="true" "probe-stack"="inline-asm" "stack-protector-buffer-size"="8" "target-cpu"="x86-64-v3" "target-features"="+avx,+avx2,+bmi,+bmi2,+cmov,+crc32,+cx16,+cx8,+f16c,+fma,+fxsr,+lzcnt,+mmx,+movbe,+popcnt,+sahf,+sse,+sse2,+sse3,+sse4.1,+sse4.2,+ssse3,+x87,+xsave" }
attributes #1 = { nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #2 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
attributes #3 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #4 = { convergent nounwind null_pointer_is_valid "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="x86-64-v3" "target-features"="+avx,+avx2,+bmi,+bmi2,+cmov,+crc32,+cx16,+cx8,+f16c,+fma,+fxsr,+lzcnt,+mmx,+movbe,+popcnt,+sahf,+sse,+sse2,+sse3,+sse4.1,+sse4.2,+ssse3,+x87,+xsave" }
attributes #5 = { nounwind }
attributes #6 = { convergent nounwind }

!llvm.module.flags = !{!0, !1, !2}
!llvm.ident = !{!3}

!0 = !{i32 1, !"wchar_size", i32 4}
!1 = !{i32 4, !"probe-stack", !"inline-asm"}
!2 = !{i32 8, !"PIC Level", i32 2}
!3 = !{!"clang"}

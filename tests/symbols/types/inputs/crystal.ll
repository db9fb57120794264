; What Crystal's compiler says of a class, to see what LLVM makes of it: it gives a Bool one bit, and
; an array as many bits as it has elements.
;
;     class Nested
;       @flag : Bool; @id : Int32; @owner : Owner; @fixed : StaticArray(Owner, 3)
;       @small : StaticArray(UInt8, 100); @tail : Owner
;     end
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@nested = global i64 0, align 8, !dbg !0

!llvm.dbg.cu = !{!4}
!llvm.module.flags = !{!6, !7}

!0 = !DIGlobalVariableExpression(var: !1, expr: !DIExpression())
!1 = distinct !DIGlobalVariable(name: "nested", scope: !4, file: !5, line: 1, type: !8, isLocal: false, isDefinition: true)
!4 = distinct !DICompileUnit(language: DW_LANG_C, file: !5, producer: "Crystal", isOptimized: false, runtimeVersion: 0, emissionKind: FullDebug, globals: !2)
!2 = !{!0}
!5 = !DIFile(filename: "nested.cr", directory: ".")
!6 = !{i32 2, !"Dwarf Version", i32 4}
!7 = !{i32 2, !"Debug Info Version", i32 3}
!8 = !DIDerivedType(tag: DW_TAG_pointer_type, name: "Nested", baseType: !9, size: 64)
!9 = !DICompositeType(tag: DW_TAG_structure_type, name: "Nested", scope: !5, file: !5, line: 1, size: 1280, align: 64, elements: !10)
!10 = !{!11, !12, !13, !14, !15, !16}
!11 = !DIDerivedType(tag: DW_TAG_member, name: "flag", scope: !5, file: !5, line: 1, baseType: !20, size: 1, align: 8, offset: 32)
!12 = !DIDerivedType(tag: DW_TAG_member, name: "id", scope: !5, file: !5, line: 1, baseType: !21, size: 32, align: 32, offset: 64)
!13 = !DIDerivedType(tag: DW_TAG_member, name: "owner", scope: !5, file: !5, line: 1, baseType: !23, size: 64, align: 64, offset: 128)
!14 = !DIDerivedType(tag: DW_TAG_member, name: "fixed", scope: !5, file: !5, line: 1, baseType: !25, size: 192, align: 64, offset: 192)
!15 = !DIDerivedType(tag: DW_TAG_member, name: "small", scope: !5, file: !5, line: 1, baseType: !28, size: 800, align: 8, offset: 384)
!16 = !DIDerivedType(tag: DW_TAG_member, name: "tail", scope: !5, file: !5, line: 1, baseType: !23, size: 64, align: 64, offset: 1216)
!20 = !DIBasicType(name: "Bool", size: 8, encoding: DW_ATE_boolean)
!21 = !DIBasicType(name: "Int32", size: 32, encoding: DW_ATE_signed)
!22 = !DIBasicType(name: "UInt8", size: 8, encoding: DW_ATE_unsigned)
!23 = !DIDerivedType(tag: DW_TAG_pointer_type, name: "Owner", baseType: !24, size: 64)
!24 = !DICompositeType(tag: DW_TAG_structure_type, name: "Owner", scope: !5, file: !5, line: 1, size: 64, align: 64, elements: !31)
!25 = !DICompositeType(tag: DW_TAG_array_type, baseType: !23, size: 3, align: 64, elements: !26)
!26 = !{!27}
!27 = !DISubrange(count: 3, lowerBound: 0)
!28 = !DICompositeType(tag: DW_TAG_array_type, baseType: !22, size: 100, align: 8, elements: !29)
!29 = !{!30}
!30 = !DISubrange(count: 100, lowerBound: 0)
!31 = !{!32}
!32 = !DIDerivedType(tag: DW_TAG_member, name: "id", scope: !5, file: !5, line: 1, baseType: !21, size: 32, align: 32, offset: 32)

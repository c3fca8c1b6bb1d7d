[(computation) (inline_computation)] @local.scope
(instruction (name) @local.definition)
(operand (name) @local.reference)
(names (name) @local.reference)

[(computation) (inline_computation)] @indent.begin
"}" @indent.branch @indent.end

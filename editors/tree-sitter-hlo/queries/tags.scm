(computation (computation_open (name) @name)) @definition.function

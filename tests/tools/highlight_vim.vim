" Prints the highlight groups of a text, with a line `start end group` for each token: vim -u NONE -es -S highlight_vim.vim OUTPUT TEXT.
set nocompatible nomore synmaxcol=0 redrawtime=600000 maxmempattern=2000000
execute 'set runtimepath^=' . fnameescape(expand('<sfile>:p:h:h:h') . '/editors/vim')
let s:output = argv(0)
filetype on
syntax enable
execute 'edit' fnameescape(argv(1))
set filetype=hlo
syntax sync fromstart
let s:offset = 0
let s:tokens = []
for s:line in range(1, line('$'))
  let s:width = col([s:line, '$']) - 1
  let s:start = 0
  let s:group = -1
  for s:column in range(1, s:width + 1)
    let s:here = s:column > s:width ? -1 : synID(s:line, s:column, 0)
    if s:here != s:group
      if s:group > 0
        call add(s:tokens, (s:offset + s:start) . ' ' . (s:offset + s:column - 1) . ' ' . synIDattr(s:group, 'name'))
      endif
      let s:start = s:column - 1
      let s:group = s:here
    endif
  endfor
  let s:offset += s:width + 1
endfor
call writefile(s:tokens, s:output)
quitall!

" Drives Vim for editors.py: does what a user would do, and reports the results.

function! s:Tell(step, result) abort
  call writefile([json_encode([a:step, type(a:result) == v:t_string ? a:result : string(a:result)])], $HLOTOOL_TOLD, 'a')
endfunction

function! s:Text() abort
  return join(getline(1, '$'), "\n")
endfunction

" Waits until a condition is true.
function! s:Wait(what, condition) abort
  for l:try in range(300)
    if eval(a:condition)
      return
    endif
    sleep 50m
  endfor
  throw 'waited in vain for ' . a:what
endfunction

" Changes the text, reports the new text, and restores the old text.
function! s:Changed(step, keys) abort
  let s:before = getline(1, '$')
  call feedkeys(a:keys, 'xt')
  call s:Wait(a:step, 'getline(1, "$") !=# s:before')
  call s:Tell(a:step, s:Text())
  call deletebufline('%', 1, '$')
  call setline(1, s:before)
endfunction

function! s:Ale() abort
  set hidden " so that ALE does not write the text after a rename
  call s:Wait('findings', '!empty(ale#engine#GetLoclist(bufnr("%")))')
  let l:finding = ale#engine#GetLoclist(bufnr('%'))[0]
  call s:Tell('finding', l:finding.lnum . ':' . l:finding.col . ' ' . l:finding.code . ' ' . l:finding.text)
  let g:ale_hover_to_preview = 1
  call cursor(12, 17)
  ALEHover
  call s:Wait('hover', '!empty(filter(range(1, winnr("$")), "getwinvar(v:val, ''&previewwindow'')"))')
  wincmd P
  call s:Tell('hover', s:Text())
  pclose
  call cursor(12, 58)
  ALEGoToDefinition
  call s:Wait('definition', 'line(".") != 12')
  call s:Tell('definition', string(line('.')))
  call cursor(12, 3)
  ALEFindReferences -quickfix
  call s:Wait('references', '!empty(getqflist())')
  call s:Tell('references', join(map(getqflist(), 'v:val.lnum')))
  cclose
  call cursor(12, 3)
  call s:Changed('renamed', ":ALERename\<CR>\<C-u>total\<CR>")
  setlocal omnifunc=ale#completion#OmniFunc
  call cursor(14, 1)
  " The plugin waits for the server only while the user does not type, so the menu is closed later.
  call timer_start(3000, {-> feedkeys("\<C-y>\<Esc>", 't')})
  call feedkeys("S  ROOT r = f32[4] exponen\<C-x>\<C-o>", 'xt!')
  call s:Tell('completion', s:Text())
  silent edit!
  call cursor(13, 3)
  call s:Wait('findings', '!empty(ale#engine#GetLoclist(bufnr("%")))')
  ALECodeAction
  call feedkeys("3\<CR>", 't')
  call s:Wait('the edit', '!search("dead", "nw")')
  call s:Tell('without dead code', s:Text())
  ALEStopAllLSPs
  call s:Wait('the end of the server', 'empty(filter(job_info(), "job_status(v:val) is# ''run''"))')
  call s:Tell('servers at the end', '0')
endfunction

function! s:Plain() abort
  call cursor(12, 1)
  call s:Changed('formatted lines', 'gqq')
  silent noautocmd write
  silent make!
  call s:Tell('message', join(map(getqflist(), 'v:val.lnum . ":" . v:val.col . " " . v:val.text'), "\n"))
  call setline(13, '  dead = f32[4] negate(s')
  silent write
  call s:Tell('kept', s:Text())
  call setline(13, '  dead = f32[4] negate(s)')
  silent write
  call s:Tell('formatted on save', s:Text())
  call s:Tell('highlights', synIDattr(synID(3, 1, 1), 'name') =~# 'computation' ? 'function' : '')
endfunction

try
  call s:Tell('version', v:versionlong)
  edit sample.hlo
  if $HLOTOOL_EDITOR ==# 'vim-ale'
    call s:Ale()
  else
    call s:Plain()
  endif
  call s:Tell('end', '')
catch
  call s:Tell('error', v:exception . ' at ' . v:throwpoint)
endtry
qall!

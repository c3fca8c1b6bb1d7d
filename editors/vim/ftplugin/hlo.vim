" Settings of HLO buffers: `gq` formats the selected instructions, and `:make` fills the quickfix list. Both need `hlotool` on the PATH.
" With `let g:hlotool_format_on_save = 1`, a buffer is formatted when it is written.
if exists('b:did_ftplugin')
  finish
endif
let b:did_ftplugin = 1

function! s:Format(...) abort
  let l:view = winsaveview()
  let l:before = getline(1, '$')
  let l:errors = tempname()
  let l:command = 'hlotool fmt -q ' . join(a:000) . ' --stdin-filename ' . shellescape(expand('%:p')) . ' - 2> ' . shellescape(l:errors)
  let l:after = systemlist(l:command, l:before + [''])
  if v:shell_error
    echohl WarningMsg | echomsg 'hlotool fmt failed and the buffer is unchanged; see :make' | echohl None
  elseif l:after !=# l:before
    call setline(1, l:after)
    call deletebufline('%', len(l:after) + 1, '$')
    call winrestview(l:view)
  endif
  call delete(l:errors)
endfunction

function! HlotoolFormatExpr() abort
  if mode() !~# '[iR]'
    call s:Format('--range', v:lnum . ':' . (v:lnum + v:count - 1))
  endif
endfunction

if get(g:, 'hlotool_format_on_save')
  autocmd BufWritePre <buffer> call s:Format()
endif
setlocal formatexpr=HlotoolFormatExpr()
setlocal comments=s1:/*,mb:*,ex:*/,:// commentstring=//\ %s
setlocal iskeyword+=-,.
setlocal makeprg=hlotool\ verify\ -q\ --output-format\ concise\ --\ %:S
setlocal errorformat=%f:%l:%c:\ %t%*[^[][%*[^]]]\ %m

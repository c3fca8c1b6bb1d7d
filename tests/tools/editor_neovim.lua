-- Drives Neovim for editors.py: does what a user would do, and reports the results.

local told = assert(io.open(vim.env.HLOTOOL_TOLD, "a"))
local with_server = vim.env.HLOTOOL_EDITOR ~= "neovim-plain"
local is_new = vim.fn.has("nvim-0.11") == 1

local function tell(step, result)
  told:write(vim.fn.json_encode({ step, tostring(result) }), "\n")
  told:flush()
end

local function text()
  return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n")
end

-- Waits until `condition` is true, and raises an error if it never is.
local function wait(what, condition)
  if not vim.wait(15000, condition, 20) then
    error("waited in vain for " .. what, 0)
  end
end

local function at(line, column)
  vim.api.nvim_win_set_cursor(0, { line, column })
end

local function clients()
  return (vim.lsp.get_clients or vim.lsp.get_active_clients)()
end

local function press(keys)
  vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes(keys, true, false, true), "nx!", false)
end

-- Reports the text in the floating window that `show` opens, and closes the window.
local function floating(what, show)
  local function window()
    for _, id in ipairs(vim.api.nvim_list_wins()) do
      if vim.api.nvim_win_get_config(id).relative ~= "" then
        return id
      end
    end
  end
  show()
  wait(what, window)
  local id = window()
  tell(what, table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(id), 0, -1, false), "\n"))
  vim.api.nvim_win_close(id, true)
end

-- Reports the line numbers in the quickfix list that `show` fills.
local function listed(what, show)
  vim.fn.setqflist({})
  show()
  wait(what, function() return #vim.fn.getqflist() > 0 end)
  tell(what, table.concat(vim.tbl_map(function(item) return tostring(item.lnum) end, vim.fn.getqflist()), " "))
  vim.cmd("cclose")
end

-- Changes the text, reports the new text, and restores the old text.
local function changed(what, change)
  local before = text()
  change()
  wait(what, function() return text() ~= before end)
  tell(what, text())
  vim.api.nvim_buf_set_lines(0, 0, -1, false, vim.split(before, "\n"))
end

local steps = {}

function steps.questions()
  at(12, 16)
  floating("hover", vim.lsp.buf.hover)
  at(12, 25)
  floating("signature", vim.lsp.buf.signature_help)
  at(12, 57)
  vim.lsp.buf.definition()
  wait("definition", function() return vim.api.nvim_win_get_cursor(0)[1] ~= 12 end)
  tell("definition", vim.api.nvim_win_get_cursor(0)[1])
  listed("callers", vim.lsp.buf.incoming_calls)
  at(12, 2)
  listed("references", vim.lsp.buf.references)
end

-- Completion needs insert mode, in which scripts are not run, so a timer looks at the menu.
function steps.completion()
  changed("completion", function()
    vim.bo.omnifunc = "v:lua.vim.lsp.omnifunc"
    at(14, 0)
    vim.api.nvim_set_current_line("  ROOT r = f32[4] exponen")
    local timer = vim.loop.new_timer()
    local tries = 0
    timer:start(100, 100, vim.schedule_wrap(function()
      tries = tries + 1
      if vim.fn.pumvisible() == 1 or tries > 100 then
        timer:stop()
        local words = vim.tbl_map(function(item) return item.abbr end, vim.fn.complete_info({ "items" }).items)
        tell("offered", table.concat(words, " "))
        vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes("<C-y><Esc>", true, false, true), "n", false)
      end
    end))
    press("A<C-x><C-o>")
  end)
end

function steps.edits()
  changed("renamed", function()
    at(12, 2)
    vim.lsp.buf.rename("total")
  end)
  changed("formatted", function()
    if vim.lsp.buf.format then
      vim.lsp.buf.format()
    else
      vim.lsp.buf.formatting_sync(nil, 10000)
    end
  end)
  changed("without dead code", function()
    vim.wait(1000)
    wait("the finding", function() return #vim.diagnostic.get(0, { lnum = 12 }) > 0 end)
    vim.ui.select = function(items, options, choose)
      tell("actions", table.concat(vim.tbl_map(options.format_item, items), "\n"))
      choose(vim.tbl_filter(function(item) return options.format_item(item) == "Remove all dead code" end, items)[1])
    end
    at(13, 3)
    vim.lsp.buf.code_action()
  end)
end

function steps.views()
  if not is_new then
    return
  end
  local function token(line, column)
    local found = vim.lsp.semantic_tokens.get_at_pos(0, line, column) or {}
    return found[1] and found[1].type
  end
  wait("tokens", function() return token(11, 2) end)
  tell("tokens", table.concat({ token(11, 2), token(11, 16), token(2, 0) }, " "))
  vim.lsp.codelens.refresh({ bufnr = 0 })
  wait("lenses", function() return #vim.lsp.codelens.get(0) > 0 and vim.lsp.codelens.get(0)[1].command end)
  tell("lenses", vim.lsp.codelens.get(0)[1].command.title)
  at(9, 0)
  wait("the lens of the entry", function()
    return vim.iter(vim.lsp.codelens.get(0)):all(function(lens) return lens.command end)
  end)
  vim.ui.select = function(lenses, options, choose)
    choose(vim.iter(lenses):find(function(lens) return options.format_item(lens):match("run") end))
  end
  vim.cmd("messages clear")
  vim.lsp.codelens.run()
  wait("the run", function() return vim.fn.execute("messages"):match("f32") end)
  tell("run", vim.fn.execute("messages"))
  vim.wo.foldmethod = "expr"
  vim.wo.foldexpr = "v:lua.vim.lsp.foldexpr()"
  wait("folds", function() return vim.fn.foldlevel(4) > 0 end)
  tell("folds", table.concat(vim.tbl_map(vim.fn.foldlevel, { 2, 3, 4, 7 }), " "))
  vim.wo.foldmethod = "manual"
  vim.lsp.inlay_hint.enable(true)
  vim.api.nvim_buf_set_lines(0, 13, 14, false, { "  ROOT r = f32[4,800,8000] broadcast(s), dimensions={0}" })
  wait("hints", function() return #vim.lsp.inlay_hint.get({ bufnr = 0 }) > 0 end)
  tell("hints", vim.lsp.inlay_hint.get({ bufnr = 0 })[1].inlay_hint.label)
  vim.cmd("silent edit!")
end

function steps.saved()
  vim.cmd("silent write")
  tell("formatted on save", text())
end

-- Settings are read again when a file is saved.
function steps.settings()
  wait("the finding", function() return #vim.diagnostic.get(0) > 0 end)
  vim.fn.writefile({ "[lint]", 'ignore = ["W001"]' }, "hlotool.toml")
  vim.cmd("silent write")
  wait("new settings", function() return #vim.diagnostic.get(0) == 0 end)
  vim.fn.delete("hlotool.toml")
  vim.cmd("silent write")
  wait("old settings", function() return #vim.diagnostic.get(0) > 0 end)
end

function steps.gone()
  vim.lsp.stop_client(clients())
  wait("the end of the server", function() return #clients() == 0 end)
  tell("servers at the end", #clients())
end

function steps.plain()
  changed("formatted lines", function()
    at(12, 0)
    vim.cmd("normal! gqq")
  end)
  vim.cmd("silent noautocmd write")
  vim.cmd("silent make")
  tell("message", table.concat(vim.tbl_map(function(item) return item.lnum .. ":" .. item.col .. " " .. item.text end, vim.fn.getqflist()), "\n"))
  local before = text()
  vim.api.nvim_buf_set_lines(0, 12, 13, false, { "  dead = f32[4] negate(s" })
  vim.cmd("silent write")
  tell("kept", text())
  vim.api.nvim_buf_set_lines(0, 0, -1, false, vim.split(before, "\n"))
  steps.saved()
  if vim.treesitter.highlighter and vim.treesitter.highlighter.active[vim.api.nvim_get_current_buf()] then
    vim.treesitter.get_parser():parse()
    local found = vim.treesitter.get_captures_at_pos(0, 2, 0)
    tell("highlights", table.concat(vim.tbl_map(function(capture) return capture.capture end, found), " "))
  end
end

local function drive()
  tell("version", vim.fn.execute("version"):match("NVIM %S+"))
  vim.cmd("edit sample.hlo")
  if not with_server then
    steps.plain()
    return
  end
  wait("findings", function() return #vim.diagnostic.get(0) > 0 end)
  local finding = vim.diagnostic.get(0)[1]
  tell("finding", ("%d:%d %s %s"):format(finding.lnum + 1, finding.col + 1, finding.code or "", finding.message))
  steps.questions()
  steps.completion()
  steps.edits()
  steps.views()
  if is_new then
    steps.saved()
  end
  steps.settings()
  steps.gone()
end

local succeeded, problem = xpcall(drive, function(problem) return debug.traceback(problem) end)
tell(succeeded and "end" or "error", succeeded and "" or problem)
vim.cmd("qall!")

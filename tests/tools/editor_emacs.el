;;; editor_emacs.el --- drives Emacs for editors.py  -*- lexical-binding: t -*-

;;; Commentary:

;; Does what a user would do, and reports the results.

;;; Code:

(require 'cl-lib)
(require 'imenu)
(require 'json)

(defun drive-tell (step result)
  "Write STEP and its RESULT for editors.py."
  (let ((inhibit-message t)
        (line (json-encode (list step (substring-no-properties (format "%s" result))))))
    (write-region (concat line "\n") nil (getenv "HLOTOOL_TOLD") t)))

(defun drive-text ()
  "Return the text of the buffer."
  (buffer-substring-no-properties (point-min) (point-max)))

(defun drive-wait (what condition)
  "Wait until CONDITION returns a value, and return it; WHAT describes it."
  (let ((end (time-add nil 15)) value)
    (while (and (not (setq value (funcall condition))) (time-less-p nil end))
      (accept-process-output nil 0.05))
    (or value (error "Waited in vain for %s" what))))

(defun drive-go (line column)
  "Move to LINE and COLUMN."
  (goto-char (point-min))
  (forward-line (1- line))
  (move-to-column column))

(defun drive-changed (step change)
  "Report the text after CHANGE as the result of STEP, and undo the change."
  (let ((before (drive-text)))
    (funcall change)
    (drive-tell step (drive-text))
    (erase-buffer)
    (insert before)
    ;; Eglot notifies the server of changes when the user has not typed for a while.
    (when (bound-and-true-p eglot--managed-mode)
      (eglot--signal-textDocument/didChange))))

(defun drive-lines (items)
  "Return the line numbers of xref ITEMS."
  (mapconcat (lambda (item) (format "%s" (xref-location-line (xref-item-location item)))) items " "))

(defun drive-eglot ()
  "Use the server."
  ;; Eglot connects after the first command, and a batch has no commands.
  (run-hooks 'post-command-hook)
  (drive-wait "the server" #'eglot-current-server)
  (drive-tell "server" (plist-get (eglot--server-info (eglot-current-server)) :name))
  (flymake-start)
  (let ((finding (car (drive-wait "findings" #'flymake-diagnostics))))
    (drive-tell "finding" (format "%d:%d %s" (line-number-at-pos (flymake-diagnostic-beg finding))
                                  (save-excursion (goto-char (flymake-diagnostic-beg finding)) (1+ (current-column)))
                                  (flymake-diagnostic-text finding))))
  (drive-go 12 16)
  (let (shown)
    (eglot-hover-eldoc-function (lambda (text &rest _) (setq shown text)))
    (drive-tell "hover" (drive-wait "hover" (lambda () shown))))
  (drive-go 12 24)
  (let (shown)
    (eglot-signature-eldoc-function (lambda (text &rest _) (setq shown text)))
    (drive-tell "signature" (drive-wait "signature" (lambda () shown))))
  (drive-go 12 57)
  (drive-tell "definition" (drive-lines (xref-backend-definitions 'eglot "LSP identifier at point.")))
  (drive-go 12 2)
  (drive-tell "references" (drive-lines (xref-backend-references 'eglot "LSP identifier at point.")))
  (drive-tell "symbols" (mapconcat #'car (cdr (car (eglot-imenu))) " "))
  (drive-changed "completion" (lambda ()
                                (drive-go 14 0)
                                (delete-region (point) (line-end-position))
                                (insert "  ROOT r = f32[4] exponential-")
                                (completion-at-point)))
  (drive-changed "renamed" (lambda () (drive-go 12 2) (eglot-rename "total")))
  (drive-changed "formatted" #'eglot-format-buffer)
  (drive-changed "without dead code" (lambda ()
                                       (flymake-start)
                                       (drive-wait "findings" #'flymake-diagnostics)
                                       (drive-go 13 3)
                                       (cl-letf (((symbol-function 'completing-read)
                                                  (lambda (_ actions &rest _)
                                                    (drive-tell "actions" (mapconcat #'car actions "\n"))
                                                    "Remove all dead code")))
                                         (let ((last-nonmenu-event ?x)) ; not by the mouse
                                           (call-interactively #'eglot-code-actions)))))
  (let ((server (eglot-current-server)))
    (eglot-shutdown server)
    (drive-tell "servers at the end" (if (jsonrpc-running-p server) 1 0))))

(defun drive-lsp-mode ()
  "Use the server with lsp-mode."
  (setq lsp-auto-guess-root t ; without a question about the folder
        lsp-warn-no-matched-clients nil)
  (lsp)
  (drive-wait "the server" #'lsp-workspaces)
  (drive-wait "the server" (lambda () (eq (lsp--workspace-status (car (lsp-workspaces))) 'initialized)))
  (let ((finding (car (drive-wait "findings" (lambda () (gethash buffer-file-name (lsp-diagnostics t)))))))
    (drive-tell "finding" (lsp:diagnostic-message finding)))
  (drive-go 12 16)
  (lsp-describe-thing-at-point)
  (with-current-buffer "*lsp-help*"
    (drive-tell "hover" (drive-text)))
  (drive-go 12 57)
  (lsp-find-definition)
  (drive-tell "definition" (line-number-at-pos))
  (drive-go 12 2)
  (drive-tell "references" (mapconcat (lambda (place) (format "%d" (1+ (lsp:position-line (lsp:range-start (lsp:location-range place))))))
                                      (lsp-request "textDocument/references" (lsp--make-reference-params)) " "))
  (drive-changed "completion" (lambda ()
                                (drive-go 14 0)
                                (delete-region (point) (line-end-position))
                                (insert "  ROOT r = f32[4] exponential-")
                                (completion-at-point)))
  (drive-changed "renamed" (lambda () (drive-go 12 2) (lsp-rename "total")))
  (drive-changed "formatted" #'lsp-format-buffer)
  (drive-changed "without dead code" (lambda ()
                                       (drive-go 13 3)
                                       (let ((actions (append (lsp-code-actions-at-point) nil)))
                                         (drive-tell "actions" (mapconcat #'lsp:code-action-title actions "\n"))
                                         (lsp-execute-code-action
                                          (cl-find "Remove all dead code" actions :key #'lsp:code-action-title :test #'equal)))))
  (let* ((workspace (car (lsp-workspaces)))
         (process (lsp--workspace-cmd-proc workspace)))
    (lsp-workspace-shutdown workspace)
    (drive-wait "the end of the server" (lambda () (not (process-live-p process))))
    (drive-tell "servers at the end" 0)))

(defun drive-flycheck ()
  "Use Flycheck."
  (require 'flycheck)
  (flycheck-mode)
  (flycheck-buffer)
  (drive-wait "findings" (lambda () flycheck-current-errors))
  (let ((finding (car flycheck-current-errors)))
    (drive-tell "finding" (format "%s:%s %s %s" (flycheck-error-line finding) (flycheck-error-column finding)
                                  (flycheck-error-id finding) (flycheck-error-message finding)))))

(defun drive-plain ()
  "Use the features that work without the server."
  (drive-tell "symbols" (mapconcat #'car (funcall imenu-create-index-function) " "))
  (drive-changed "formatted lines" (lambda ()
                                     (drive-go 12 0)
                                     (hlo-format-region (point) (line-end-position))))
  (drive-go 13 24)
  (delete-char 1)
  (save-buffer)
  (drive-tell "kept" (drive-text))
  (insert ")")
  (save-buffer)
  (drive-tell "formatted on save" (drive-text))
  (font-lock-ensure)
  (drive-go 3 0)
  (drive-tell "highlights" (if (eq (get-text-property (point) 'face) 'hlo-computation-face) "function" ""))
  (let ((buffer (compile "hlotool verify -q --output-format concise sample.hlo")))
    (drive-wait "the end of the compilation" (lambda () (not (process-live-p (get-buffer-process buffer)))))
    (next-error)
    (drive-tell "message" (format "%d:%d %s" (line-number-at-pos) (1+ (current-column)) (buffer-name)))))

(condition-case problem
    (progn
      (drive-tell "version" (emacs-version))
      (find-file "sample.hlo")
      (drive-tell "mode" major-mode)
      (pcase (getenv "HLOTOOL_EDITOR")
        ("emacs" (drive-eglot))
        ("emacs-lsp-mode" (drive-lsp-mode))
        ("emacs-flycheck" (drive-flycheck))
        (_ (drive-plain)))
      (drive-tell "end" ""))
  (error (drive-tell "error" (error-message-string problem))))

;;; editor_emacs.el ends here

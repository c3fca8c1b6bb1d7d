# Prints the tokens of a text, with a line `start end token` for each token: ruby highlight_rouge.rb LEXER TEXT.
require 'rouge'
require File.expand_path(ARGV[0])

offset = 0
Rouge::Lexers::HLO.lex(File.read(ARGV[1])) do |token, value|
  puts "#{offset} #{offset + value.size} #{token.qualname}"
  offset += value.size
end

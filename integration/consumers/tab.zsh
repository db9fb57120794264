# What the Tab key makes of a line in a terminal: zsh -f tab.zsh HEAPATTACH LINE, in a directory in which
# it may make a folder. Prints the line in brackets.
zmodload zsh/zpty
mkdir -p functions
$1 help zsh >functions/_heapattach
zpty -b terminal zsh -f -i
# Ctrl-X prints the line, after what was completed before it.
zpty -w terminal '
  fpath=($PWD/functions $fpath) PROMPT= ZLE_RPROMPT_INDENT=0
  autoload -Uz compinit && compinit -D -u
  show() { print -r -- "[$BUFFER]" }
  zle -N show && bindkey "^X" show
  print REA''DY'
printed=
until_printed() {
  local piece
  until [[ $printed == *$~1* ]]; do
    zpty -r -t terminal piece && printed+=$piece || sleep 0.02
  done
}
until_printed READY
zpty -w -n terminal "$2"$'\t\C-x'
until_printed '\[heapattach *\]'
[[ $printed =~ '\[heapattach [^]]*\]' ]] && print -r -- $MATCH
zpty -d terminal

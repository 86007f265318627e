package cli

// completionScripts ask the program for words and the shell for files. The words have no
// character that a shell interprets; files are quoted by the shell itself.
var completionScripts = map[string]string{
	"bash": `# amn completion bash
_amn() {
    local cur line word files
    local -a words=("${COMP_WORDS[@]:1:COMP_CWORD}")
    cur=${COMP_WORDS[COMP_CWORD]}
    # bash takes = and : for words of their own: put them together again.
    local -a whole=()
    local i glue=
    for ((i = 1; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ -n $glue || $word == [=:] ]] && ((${#whole[@]})); then
            whole[${#whole[@]}-1]+=$word
            glue=
            [[ $word == [=:] ]] && glue=1
        else
            whole+=("$word")
        fi
    done
    [[ $cur == [=:] ]] && cur=
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
        :*) files=${line#:} ;;
        *)
            word=${line%%$'\t'*}
            [[ $word == "$cur"* ]] && COMPREPLY+=("$word")
            # After a colon that parts words, only what follows it is replaced.
            [[ $word != "$cur"* && $word == *:"$cur"* ]] && COMPREPLY+=("${word##*:}")
            ;;
        esac
    done < <("${COMP_WORDS[0]/#\~/$HOME}" @ASK@ "${whole[@]}" 2>/dev/null)
    # What stands for a scheme is followed by an address.
    ((${#COMPREPLY[@]} == 1)) && [[ ${COMPREPLY[0]} == *[:/] ]] && compopt -o nospace 2>/dev/null
    if [[ -n $files ]]; then
        ((${#COMPREPLY[@]})) || compopt -o filenames 2>/dev/null
        local on
        on=$(shopt -p extglob)
        shopt -s extglob
        local -a found=()
        if [[ $files == models ]]; then
            mapfile -t found < <(compgen -f -X '!*.@(@EXT@)' -- "$cur"; compgen -d -- "$cur")
        fi
        ((${#found[@]})) || mapfile -t found < <(compgen -f -- "$cur")
        $on
        # bash quotes names of files only where nothing else is offered.
        if ((${#COMPREPLY[@]})); then
            for i in "${!found[@]}"; do printf -v 'found[i]' %q "${found[i]}"; done
        fi
        COMPREPLY+=("${found[@]}")
    fi
}
complete -F _amn amn
`,
	"zsh": `#compdef amn
# amn completion zsh
_amn() {
    local line files
    local -a offers
    while IFS= read -r line; do
        case $line in
        :*) files=${line#:} ;;
        *$'\t'?*) offers+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
        *) offers+=("${${line%%$'\t'*}//:/\\:}") ;;
        esac
    done < <("${words[1]/#\~/$HOME}" @ASK@ "${(@Q)words[2,CURRENT]}" 2>/dev/null)
    if [[ $PREFIX == --*=* ]]; then
        compset -P 1 '*='
    fi
    (( ${#offers} )) && _describe -V 'amn' offers
    case $files in
    models) _files -g '*.(@EXT@)(-.)' || _files ;;
    any) _files ;;
    esac
}
if [[ $funcstack[1] == _amn ]]; then
    _amn "$@"
else
    compdef _amn amn
fi
`,
	"fish": `# amn completion fish
function __amn_complete
    set -l program (commandline -opc)[1]
    set -l words (commandline -opc)[2..-1]
    set -l current (commandline -ct)
    set -l prefix (string match -r -- '^--[^=]*=' $current)
    for line in ($program @ASK@ $words "$current" 2>/dev/null)
        switch $line
            case ':models' ':any'
                set -l found (__fish_complete_path (string replace -r -- '^--[^=]*=' '' "$current"))
                if test $line = ':models'
                    set -l models (string match -r -- '^[^\t]*(?:/|\.(?:@EXT@))(?:\t.*)?$' $found)
                    test -n "$models"; and set found $models
                end
                # Names with a character that a shell could act on are not offered.
                string match -r -- '^(?:[-\w./ :,@%+=]|[^\x00-\x7f])+(?:\t.*)?$' "$prefix"$found
            case ':*'
            case '*'
                printf '%s\n' "$prefix$line"
        end
    end
end
complete -c amn -f -a '(__amn_complete)'
`,
	"powershell": `# amn completion powershell
Register-ArgumentCompleter -Native -CommandName amn -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @($commandAst.CommandElements | Select-Object -Skip 1 | Where-Object { $_.Extent.EndOffset -lt $cursorPosition } | ForEach-Object { "$_".Trim('"', "'") })
    $program = "$($commandAst.CommandElements[0])"
    $prefix = if ($wordToComplete -match '^(--[^=]*=)') { $Matches[1] } else { '' }
    $last = if ($wordToComplete) { $wordToComplete } else { '""' }
    & $program @ASK@ @words $last 2>$null | ForEach-Object {
        if (-not $_.StartsWith(':')) {
            $word, $what = $_ -split ([char]9), 2
            if (-not $what) { $what = $word }
            [System.Management.Automation.CompletionResult]::new("$prefix$word", $word, 'ParameterValue', $what)
        }
    }
}
`,
}

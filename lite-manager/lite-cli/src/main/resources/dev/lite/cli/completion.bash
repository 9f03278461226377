
# Completes the names of nodes, LMRs and processes, which the command itself lists. They are data: never expanded.
function _complete_lite_names() {
  _complete_lite "$@"
  local curr_word=${COMP_WORDS[COMP_CWORD]}
  local verb=${COMP_WORDS[1]}
  if [[ ${#COMPREPLY[@]} -gt 0 || "${curr_word}" == -* || ${COMP_CWORD} -lt 2 ]]; then return; fi
  local kind=""
  local before=0
  local option="" # the one whose value comes next
  local cluster=()
  local index word
  for (( index = 2; index < COMP_CWORD; index++ )); do
    word=${COMP_WORDS[index]}
    if [[ "${word}" == -*=* ]]; then option=${word%%=*}; word=${word#*=}; fi
    case "${option}/${word}" in
      -*/=) ;; # bash makes three words of --name=c
      --name/*) cluster=(--name "${word}"); option="" ;;
      -*/*) option="" ;;
      /--no-wait | /--no-quotas | /--leave | /--json | /--follow) ;;
      /-*) option=${word} ;;
      *) before=$((before + 1)) ;;
    esac
  done
  case "${option}" in
    --node) kind=processes ;;
    --nodes) kind=nodes ;;
    "") ;;
    *) return ;;
  esac
  if [[ -z "${kind}" ]]; then
    case "${verb}/${before}" in
      drain/0 | undrain/0 | move/1) kind=nodes ;;
      start/0 | stop/0 | restart/0 | logs/0) kind=processes ;;
      move/0 | lmr/0 | lmrs/0 | get/0 | put/0 | dump/0 | free/0 | grant/0) kind=lmrs ;;
      *) return ;;
    esac
  fi
  if [[ "${kind}" != processes ]]; then cluster=(); fi
  local name
  while IFS= read -r name; do
    if [[ "${name}" == "${curr_word}"* ]]; then COMPREPLY+=( "$(printf '%q' "${name}")" ); fi
  done < <("${COMP_WORDS[0]}" names --timeout 2 "${kind}" "${curr_word}" "${cluster[@]}" 2> /dev/null)
}
complete -F _complete_lite_names -o default lite lite.sh lite.bash

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Stands in for a Jetson's nvpmodel. The mode is kept in the file VT_FAKE_NVPMODEL; words in
# VT_FAKE_NVPMODEL_AS change what it does:
#   offline  returns 255 after a change, as when cores were taken offline
#   deaf     changes nothing and returns 0
#   silent   -q tells nothing
#   slow     takes 300 ms for a change
# Mode 3 needs a restart, for which it asks.
case $1 in
-q)
    case $VT_FAKE_NVPMODEL_AS in *silent*) exit 1 ;; esac
    echo "NVPM WARN: fan mode is not set!"
    read -r mode <"$VT_FAKE_NVPMODEL"
    printf 'NV Power Mode: MODE_%s\n%s\n' "$mode" "$mode"
    ;;
-m)
    if [ "$2" = 3 ]; then
        echo "NVPM WARN: Reboot required for changing to this power mode: 3"
        echo "NVPM WARN: DO YOU WANT TO REBOOT NOW? enter YES/yes to confirm:"
        read -r answer
        case $answer in
        YES | yes) echo rebooted >"$VT_FAKE_NVPMODEL.reboot" ;;
        *) echo "NVPM ERROR: user input $answer is invalid" ;;
        esac
        exit 0
    fi
    case $VT_FAKE_NVPMODEL_AS in *deaf*) exit 0 ;; *slow*) sleep 0.3 ;; esac
    echo "$2" >"$VT_FAKE_NVPMODEL.new" && mv "$VT_FAKE_NVPMODEL.new" "$VT_FAKE_NVPMODEL"
    echo "set $2" >>"$VT_FAKE_NVPMODEL.log"
    case $VT_FAKE_NVPMODEL_AS in *offline*) exit 255 ;; esac
    ;;
*) exit 2 ;;
esac

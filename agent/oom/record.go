package oom

import (
	"bytes"
	"strconv"
	"time"
)

// message is one line of the kernel log.
type message struct {
	at   time.Duration // since the machine was booted
	text []byte
}

// parseRecord reads a record of /dev/kmsg: "PRIORITY,SEQUENCE,MICROSECONDS,FLAGS[,...];TEXT\n KEY=VALUE\n...". It returns false for other
// bytes, and for records that are not the kernel's: others write to /dev/kmsg, too. Upstream: the kernel's Documentation/ABI/testing/dev-kmsg.
func parseRecord(b []byte) (message, bool) {
	head, text, ok := bytes.Cut(b, []byte(";"))
	if !ok {
		return message{}, false
	}
	fields := bytes.SplitN(head, []byte(","), 4)
	if len(fields) < 4 {
		return message{}, false
	}
	const levels = 8 // the priority is FACILITY*8+LEVEL; only the kernel has facility 0
	priority, err := strconv.ParseUint(string(fields[0]), 10, 32)
	if err != nil || priority >= levels {
		return message{}, false
	}
	us, err := strconv.ParseInt(string(fields[2]), 10, 64)
	if err != nil || us < 0 || us > int64(maxUptime/time.Microsecond) {
		return message{}, false
	}
	text, _, _ = bytes.Cut(text, []byte("\n"))
	return message{at: time.Duration(us) * time.Microsecond, text: text}, true
}

// maxUptime bounds a record's time.
const maxUptime = 200 * 365 * 24 * time.Hour

// unescape replaces \xNN, as which the kernel log writes a backslash and every byte that is not printable ASCII.
func unescape(s string) string {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if i+4 <= len(s) && s[i] == '\\' && s[i+1] == 'x' {
			if n, err := strconv.ParseUint(s[i+2:i+4], 16, 8); err == nil {
				out = append(out, byte(n))
				i += 3
				continue
			}
		}
		out = append(out, s[i])
	}
	return string(bytes.ToValidUTF8(out, []byte("\uFFFD")))
}

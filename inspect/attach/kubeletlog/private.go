package kubeletlog

import "strings"

// hook is a container's hook that failed: its message is what the command wrote.
const hook = "Exec lifecycle hook for Container in Pod failed"

// private reports whether the value of a message's key may hold what belongs to the pods' owners: environments, commands and their outputs, and
// from V8 on the bodies of requests, such as Secrets.
func private(msg, key string) bool {
	switch key {
	case "patch", "status", "podStatus", "probeOutput", "output", "response", "execCommand", "cmd", "headers", "body":
		return true
	case "message":
		return msg == hook
	}
	return false
}

// shown replaces what a text does not show.
const shown = "[not shown]"

// owned are parts of texts that belong to the pods' owners: in a text with has, they begin after from, and end before the last to, or with
// the text. Values in them may look like any end but the last.
var owned = []struct{ has, from, to string }{
	{"", "Container{", "} start failed in pod "}, // until 1.33: the whole container
	{"", "EnvVar{", ""},
	{"", "Request Body:", ""}, // until 1.32
	{"", "Response Body:", ""},
	{"Exec lifecycle hook (", "Exec lifecycle hook (", ""},
	{"Exec-Probe Pod: ", "Command: ", ""},                           // until 1.20
	{" from runtime service failed", "'", "' from runtime service"}, // until 1.20: ExecSync ID 'command'
}

// public is a text without what belongs to the pods' owners.
func public(s string) string {
	for _, o := range owned {
		if !strings.Contains(s, o.has) {
			continue
		}
		from := strings.Index(s, o.from)
		if from < 0 {
			continue
		}
		from += len(o.from)
		to := len(s)
		if o.to != "" {
			if n := strings.LastIndex(s, o.to); n >= from {
				to = n
			}
		}
		s = s[:from] + shown + s[to:]
	}
	return s
}

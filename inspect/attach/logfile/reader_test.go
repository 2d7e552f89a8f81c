package logfile_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/inspect/attach/klog"
	"github.com/kubeloupe/kubeloupe/inspect/attach/logfile"
)

var latest = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// read returns each entry as "time severity message [keys]", with what is lost before it.
func read(t *testing.T, in string, zone *time.Location) (out []string, stats logfile.Stats) {
	t.Helper()
	r, err := logfile.NewReader(strings.NewReader(in), logfile.Options{Zone: zone, Latest: latest})
	if err != nil {
		t.Fatal(err)
	}
	for {
		it, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out, r.Stats()
		}
		if err != nil {
			t.Fatal(err)
		}
		s := ""
		if it.Lost > 0 {
			s = fmt.Sprintf("lost %d ", it.Lost)
		}
		if !it.Entry.Time.IsZero() {
			s += it.Entry.Time.UTC().Format("2006-01-02T15:04:05.000000 ") + string(it.Entry.Severity) + " " + it.Entry.Msg
		}
		for _, f := range it.Entry.Fields {
			s += fmt.Sprintf(" %s=%q", f.Key, f.Value)
		}
		if it.Entry.Cut {
			s += " (cut)"
		}
		out = append(out, s)
	}
}

const (
	one = `I0917 10:01:34.875534    2310 a.go:245] "one" pod="a/b"`
	two = `E0917 10:01:35.000001    2310 a.go:2] "two"`
)

// value is an entry with a value of several lines, some of which look like entries, and one more.
const value = one + " e=<\n\tx\n\tI0917 10:01:34.900000    2310 a.go:1] \"forged\"\n\tx I0917 10:01:34.900000    2310 a.go:1] \"forged\"\n\tx: {\"ts\":1600336894875.534,\"msg\":\"forged\"}\n > f=<\n\tI0917 10:01:34.900000    2310 a.go:1] \"forged\"\n\t >\n >\n"

// journaled is an entry as journalctl -o json writes it.
func journaled(name, pid, lineBreak, text string) string {
	return fmt.Sprintf(`{"__REALTIME_TIMESTAMP": "1600336894900000", "SYSLOG_IDENTIFIER": %q, "_PID": %q, "_LINE_BREAK": %q, "MESSAGE": %q}`+"\n", name, pid, lineBreak, text)
}

func exported(fields ...string) string {
	var b bytes.Buffer
	for i := 0; i < len(fields); i += 2 {
		if !strings.Contains(fields[i+1], "\n") {
			b.WriteString(fields[i] + "=" + fields[i+1] + "\n")
			continue
		}
		b.WriteString(fields[i] + "\n")
		b.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(fields[i+1]))))
		b.WriteString(fields[i+1] + "\n")
	}
	return b.String() + "\n"
}

func packed(s string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(s))
	z.Close()
	return b.String()
}

// wide is text in UTF-16.
func wide(s string, big bool) string {
	var b []byte
	for _, c := range utf16.Encode([]rune(s)) {
		if big {
			b = binary.BigEndian.AppendUint16(b, c)
		} else {
			b = binary.LittleEndian.AppendUint16(b, c)
		}
	}
	return string(b)
}

func TestReader(t *testing.T) {
	const at1, at2 = "2026-09-17T10:01:34.875534 I one pod=\"a/b\"", "2026-09-17T10:01:35.000001 E two"
	journal := func(ident, message string) string {
		return fmt.Sprintf(`{"__CURSOR":"x","__REALTIME_TIMESTAMP":"1600336894900000","SYSLOG_IDENTIFIER":%q,"_PID":"2310","MESSAGE":%s}`+"\n", ident, message)
	}
	for name, c := range map[string]struct {
		in, zone string
		want     []string
		stats    logfile.Stats
	}{
		"empty":             {"", "UTC", nil, logfile.Stats{}},
		"plain":             {one + "\n" + two + "\n", "UTC", []string{at1, at2}, logfile.Stats{Entries: 2}},
		"no newline":        {one + "\n" + two, "UTC", []string{at1, at2}, logfile.Stats{Entries: 2}},
		"windows":           {one + "\r\n" + two + "\r\n", "UTC", []string{at1, at2}, logfile.Stats{Entries: 2}},
		"zone":              {one + "\n", "Asia/Kolkata", []string{"2026-09-17T04:31:34.875534 I one pod=\"a/b\""}, logfile.Stats{Entries: 1}},
		"further lines":     {one + " e=<\n\tx\n\ty\n >\n" + "I0917 10:01:34.875534    2310 a.go:245] free\nmore\n" + two, "UTC", []string{at1 + ` e="x\ny"`, "2026-09-17T10:01:34.875534 I free\nmore", at2}, logfile.Stats{Entries: 3}},
		"short":             {"-- Logs begin at x\nSep 17 10:01:34 minikube kubelet[2310]: " + one + "\nSep 17 10:01:34 minikube systemd[1]: Started.\nSep 17 10:01:35 minikube kubelet[2310]: " + two + "\n", "UTC", []string{at1, at2}, logfile.Stats{Entries: 2, Other: 2}},
		"short, begun":      {"Sep 17 10:01:34 minikube kubelet[2310]: \tx\nSep 17 10:01:34 minikube kubelet[2310]: " + one, "UTC", []string{"lost 1 " + at1}, logfile.Stats{Entries: 1, Lost: 1}},
		"short, further":    {"Sep 17 10:01:34 m kubelet[2310]: " + one + " e=<\nSep 17 10:01:34 m kubelet[2310]: \tx\nSep 17 10:01:34 m kubelet[2310]:  >\n", "UTC", []string{at1 + ` e="x"`}, logfile.Stats{Entries: 1}},
		"precise":           {"Sep 17 10:01:34.876000 minikube kubelet.sh[2310]: " + one + "\n", "UTC", []string{at1}, logfile.Stats{Entries: 1}},
		"iso":               {"2020-09-17T12:01:34+0200 minikube kubelet[2310]: " + one + "\n2020-09-17T12:01:35.000100+02:00 minikube kubelet[2310]: " + two + "\n", "", []string{"2020-09-17T10:01:34.875534 I one pod=\"a/b\"", "2020-09-17T10:01:35.000001 E two"}, logfile.Stats{Entries: 2}},
		"iso, zone":         {"2020-09-17T08:01:34Z minikube kubelet[2310]: " + one + "\n", "", []string{"2020-09-17T08:01:34.875534 I one pod=\"a/b\""}, logfile.Stats{Entries: 1}},
		"full":              {"Thu 2020-09-17 10:01:34 UTC minikube kubelet[2310]: " + one + "\n", "", []string{"2020-09-17T10:01:34.875534 I one pod=\"a/b\""}, logfile.Stats{Entries: 1}},
		"suppressed":        {"Sep 17 10:01:34 m kubelet[2310]: " + one + "\nSep 17 10:01:34 m systemd-journald[99]: Suppressed 1234 messages from kubelet.service\nSep 17 10:01:35 m kubelet[2310]: " + two + "\n", "UTC", []string{at1, "lost 1234 " + at2}, logfile.Stats{Entries: 2, Lost: 1234}},
		"cri":               {"2020-09-17T10:01:34.876Z stderr P " + one[:30] + "\n2020-09-17T10:01:34.876Z stderr F " + one[30:] + "\n2020-09-17T10:01:35.1Z stderr F " + two + "\n", "", []string{"2020-09-17T10:01:34.875534 I one pod=\"a/b\"", "2020-09-17T10:01:35.000001 E two"}, logfile.Stats{Entries: 2}},
		"docker":            {fmt.Sprintf("{\"log\":%q,\"stream\":\"stderr\",\"time\":\"2020-09-17T10:01:34.876Z\"}\n", one+"\n"), "", []string{"2020-09-17T10:01:34.875534 I one pod=\"a/b\""}, logfile.Stats{Entries: 1}},
		"k0s":               {fmt.Sprintf("time=\"2020-09-17 10:01:34\" level=info msg=%q component=kubelet stream=stderr\ntime=\"2020\" level=info msg=%q component=etcd\n", one, two), "UTC", []string{at1}, logfile.Stats{Entries: 1, Other: 1}},
		"another locale":    {"11月 22 10:01:34 n kubelet[2310]: " + one + "\n", "UTC", []string{at1}, logfile.Stats{Entries: 1}},
		"quoted":            {"    Sep 17 10:01:34 m kubelet[2310]: " + one + " e=<\n    Sep 17 10:01:34 m kubelet[2310]: \tx\n    Sep 17 10:01:34 m systemd[1]: y\n    Sep 17 10:01:34 m kubelet[2310]:  >\n", "UTC", []string{at1 + ` e="x"`}, logfile.Stats{Entries: 1, Other: 1}},
		"newest first":      {"-- Logs begin at x\nSep 17 10:01:36 m kubelet[2310]: I0917 10:01:36.000000    2310 a.go:1] three\nSep 17 10:01:35 m kubelet[2310]: " + two + "\nSep 17 10:01:34 m kubelet[2310]: \tx\nSep 17 10:01:34 m kubelet[2310]: " + one + " e=<\n", "UTC", []string{at1 + ` e="x" (cut)`, at2, "2026-09-17T10:01:36.000000 I three"}, logfile.Stats{Entries: 3, Cut: 1, Other: 1}},
		"HTML":              {strings.ReplaceAll(one, "\"", "&quot;") + "\n", "UTC", []string{at1}, logfile.Stats{Entries: 1}},
		"a plugin's output": {`Sep 17 10:01:34 m kubelet[2310]: {"cniVersion":"0.3.1","type":"bridge"}` + one + "\n", "UTC", []string{at1}, logfile.Stats{Entries: 1}},
		"a wrapper":         {"Sep 17 10:01:34 m sh[7]: " + one + "\nSep 17 10:01:35 m kube-apiserver[8]: " + two + "\n", "UTC", []string{at1}, logfile.Stats{Entries: 1, Other: 1}},
		"syslog 5424":       {"2020-09-17T10:01:34.876000+00:00 m kubelet 2310 - -  " + one + "\n2020-09-17T10:01:35.000000+00:00 m containerd 7 - -  time=\"x\" msg=\"y\"\n", "", []string{"2020-09-17T10:01:34.875534 I one pod=\"a/b\""}, logfile.Stats{Entries: 1, Other: 1}},
		"talosctl":          {`10.0.0.3: {"ts":1600336894875.534,"caller":"a/a.go:1","msg":"one","v":2}` + "\n", "", []string{"2020-09-17T10:01:34.875534 I one"}, logfile.Stats{Entries: 1}},
		"folded":            {"Sep 17 10:01:34 m kubelet[2310]: " + one[:45] + "\n" + one[45:50] + "\n" + one[50:] + "\nSep 17 10:01:35 m kubelet[2310]: " + two[:30] + "\n" + two[30:] + "\n", "UTC", []string{at1, at2}, logfile.Stats{Entries: 2}},
		"microshift":        {"Sep 17 10:01:34 m microshift[7]: kubelet " + one + "\nSep 17 10:01:34 m microshift[7]: kube-apiserver " + two + "\n", "UTC", []string{at1}, logfile.Stats{Entries: 1, Other: 1}},
		"reversed, a value": {two + "\n >\n\tI0917 10:01:39.900000    2310 a.go:1] \"forged\"\n" + one + " e=<\n" + strings.Replace(one, "one", "zero", 1), "UTC", []string{strings.Replace(at1, "one", "zero", 1), at1 + ` e="I0917 10:01:39.900000    2310 a.go:1] \"forged\""`, at2}, logfile.Stats{Entries: 3}},
		"collected":         {fmt.Sprintf(`{"@timestamp":"x","host":{"name":"n"},"message":%q}`+"\n"+`{"insertId":"y","jsonPayload":{"MESSAGE":%q,"_PID":"1"}}`+"\n"+`{"message":"another"}`+"\n", one, "Sep 17 10:01:35 m kubelet[2310]: "+two), "UTC", []string{at1, at2}, logfile.Stats{Entries: 2, Other: 1}},
		"UTF-16":            {wide(one+"\r\n"+two+"\r\n", false), "UTC", []string{at1, at2}, logfile.Stats{Entries: 2}},
		"UTF-16, big":       {wide("\ufeff# 𝄞 é\n"+one+"\n", true), "UTC", []string{at1}, logfile.Stats{Entries: 1, Other: 1}},
		"UTF-16, cut":       {wide(one+"\n", false) + "x", "UTC", []string{at1}, logfile.Stats{Entries: 1}},
		"UTF-8, marked":     {"\ufeff" + one + "\n", "UTC", []string{at1}, logfile.Stats{Entries: 1}},
		"colors":            {"\x1b[0;1;31mE" + two[1:len(two)-3] + "\x1b[01;31m\x1b[K" + two[len(two)-3:] + "\x1b[0m\n", "UTC", []string{at2}, logfile.Stats{Entries: 1}},
		"round quotes":      {strings.NewReplacer(` "`, " “", `="`, "=“", `"`, "”").Replace(one) + "\n", "UTC", []string{at1}, logfile.Stats{Entries: 1}},
		"a table":           {`"2020-09-17","n1","` + strings.ReplaceAll(one, `"`, `""`) + "\"\n", "UTC", []string{at1}, logfile.Stats{Entries: 1}},
		"minikube":          {"==> Audit <==\nx\n==> kubelet <==\nSep 17 10:01:34 minikube kubelet[2310]: " + one + "\n\n==> kube-scheduler [x] <==\n" + two + "\n", "UTC", []string{at1}, logfile.Stats{Entries: 1, Other: 3}},
		"klog JSON":         {`{"ts":1600336894875.534,"caller":"a/a.go:1","msg":"one","v":2}` + "\n" + `{"ts":1600336895000.001,"caller":"a/a.go:1","msg":"two"}` + "\n", "", []string{"2020-09-17T10:01:34.875534 I one", "2020-09-17T10:01:35.000001 E two"}, logfile.Stats{Entries: 2}},
		"journal JSON": {
			journal("kubelet", fmt.Sprintf("%q", one)) + journal("etcd", `"x"`) + journal("kubelet", "null") + journal("kubelet", "[69"+strings.TrimPrefix(strings.ReplaceAll(fmt.Sprint([]byte(two)), " ", ","), "[69")), "",
			[]string{"2020-09-17T10:01:34.875534 I one pod=\"a/b\"", "lost 1 2020-09-17T10:01:35.000001 E two"},
			logfile.Stats{Entries: 2, Lost: 1, Other: 1},
		},
		"export": {
			exported("__CURSOR", "a", "__REALTIME_TIMESTAMP", "1600336894900000", "SYSLOG_IDENTIFIER", "kubelet", "_PID", "1", "MESSAGE", one+" e=<\n\tx\n >") +
				exported("__CURSOR", "b", "__REALTIME_TIMESTAMP", "1600336894900000", "SYSLOG_IDENTIFIER", "sshd", "MESSAGE", "x") +
				exported("__CURSOR", "c", "__REALTIME_TIMESTAMP", "1600336895100000", "SYSLOG_IDENTIFIER", "kubelet", "_PID", "1", "_LINE_BREAK", "line-max", "MESSAGE", two[:20]) +
				exported("__CURSOR", "d", "__REALTIME_TIMESTAMP", "1600336895100000", "SYSLOG_IDENTIFIER", "kubelet", "_PID", "1", "MESSAGE", two[20:]), "",
			[]string{"2020-09-17T10:01:34.875534 I one pod=\"a/b\" e=\"x\"", "2020-09-17T10:01:35.000001 E two"},
			logfile.Stats{Entries: 2, Other: 1},
		},
		"export, others between the parts of a line": {
			exported("__CURSOR", "0", "SYSLOG_IDENTIFIER", "kubelet", "_PID", "1", "MESSAGE", one) +
				exported("__CURSOR", "a", "SYSLOG_IDENTIFIER", "kubelet", "_PID", "1", "_LINE_BREAK", "line-max", "MESSAGE", two[:20]) +
				exported("__CURSOR", "b", "SYSLOG_IDENTIFIER", "mount.nfs", "_SYSTEMD_UNIT", "kubelet.service", "_PID", "2", "MESSAGE", "x") +
				exported("__CURSOR", "c", "SYSLOG_IDENTIFIER", "systemd-journald", "MESSAGE", "Suppressed 7 messages from kubelet.service") +
				exported("__CURSOR", "d", "SYSLOG_IDENTIFIER", "kubelet", "_PID", "1", "MESSAGE", two[20:]), "UTC",
			[]string{at1, "lost 7 " + at2},
			logfile.Stats{Entries: 2, Lost: 7, Other: 1},
		},
		"journal as JSON, others between the parts of a line": {
			journaled("kubelet", "1", "line-max", one[:20]) + journaled("sshd", "2", "", "x") + journaled("containerd", "3", "", "y") + journaled("kubelet", "1", "", one[20:]), "UTC",
			[]string{strings.Replace(at1, "2026", "2020", 1)},
			logfile.Stats{Entries: 1, Other: 2},
		},
		"export, a kubelet ends within a line": {
			exported("__CURSOR", "a", "SYSLOG_IDENTIFIER", "kubelet", "_PID", "1", "_LINE_BREAK", "line-max", "MESSAGE", one[:len(one)-3]) +
				exported("__CURSOR", "b", "SYSLOG_IDENTIFIER", "kubelet", "_PID", "3", "_LINE_BREAK", "line-max", "MESSAGE", two[:20]) +
				exported("__CURSOR", "c", "SYSLOG_IDENTIFIER", "kubelet", "_PID", "3", "MESSAGE", two[20:]), "UTC",
			[]string{"2026-09-17T10:01:34.875534 I one pod=\"a\" (cut)", at2},
			logfile.Stats{Entries: 2, Cut: 1},
		},
		"journal as JSON, a kubelet ends within a line": {
			journaled("kubelet", "1", "line-max", one[:len(one)-3]) + journaled("kubelet", "3", "", two) + journaled("kubelet", "3", "line-max", two[:20]) + journaled("kubelet", "3", "", two[20:]), "UTC",
			[]string{"2020-09-17T10:01:34.875534 I one pod=\"a\" (cut)", "2020-09-17T10:01:35.000001 E two", "2020-09-17T10:01:35.000001 E two"},
			logfile.Stats{Entries: 3, Cut: 1},
		},
		"export, summer time ends": {
			exported("__CURSOR", "a", "__REALTIME_TIMESTAMP", "1792888200000000", "SYSLOG_IDENTIFIER", "kubelet", "_PID", "1", "MESSAGE", `I1025 02:30:00.000000    1 a.go:1] "a"`) +
				exported("__CURSOR", "b", "__REALTIME_TIMESTAMP", "1792891800000000", "SYSLOG_IDENTIFIER", "kubelet", "_PID", "1", "MESSAGE", `I1025 02:30:00.000000    1 a.go:1] "b"`) +
				exported("__CURSOR", "c", "__REALTIME_TIMESTAMP", "1792929600000000", "SYSLOG_IDENTIFIER", "kubelet", "_PID", "1", "MESSAGE", `I1025 13:00:00.000000    1 a.go:1] "c"`) +
				exported("__CURSOR", "d", "__REALTIME_TIMESTAMP", "1792930030000000", "SYSLOG_IDENTIFIER", "kubelet", "_PID", "1", "MESSAGE", `I1025 13:01:00.000000    1 a.go:1] "late"`), "",
			[]string{"2026-10-25T00:30:00.000000 I a", "2026-10-25T01:30:00.000000 I b", "2026-10-25T12:00:00.000000 I c", "2026-10-25T12:01:00.000000 I late"},
			logfile.Stats{Entries: 4},
		},
		"export, summer time begins": {
			exported("__CURSOR", "a", "__REALTIME_TIMESTAMP", "1774742400000000", "SYSLOG_IDENTIFIER", "kubelet", "_PID", "1", "MESSAGE", `I0329 01:00:00.000000    1 a.go:1] "a"`) +
				exported("__CURSOR", "b", "__REALTIME_TIMESTAMP", "1774749600000000", "SYSLOG_IDENTIFIER", "kubelet", "_PID", "1", "MESSAGE", `I0329 04:00:00.000000    1 a.go:1] "b"`), "",
			[]string{"2026-03-29T00:00:00.000000 I a", "2026-03-29T02:00:00.000000 I b"},
			logfile.Stats{Entries: 2},
		},
		"export, a zone with summer time": {
			exported("__CURSOR", "a", "__REALTIME_TIMESTAMP", "1792888200000000", "SYSLOG_IDENTIFIER", "kubelet", "_PID", "1", "MESSAGE", `I1025 02:30:00.000000    1 a.go:1] "a"`) +
				exported("__CURSOR", "b", "__REALTIME_TIMESTAMP", "1792891800000000", "SYSLOG_IDENTIFIER", "kubelet", "_PID", "1", "MESSAGE", `I1025 02:30:00.000000    1 a.go:1] "b"`), "Europe/Berlin",
			[]string{"2026-10-25T00:30:00.000000 I a", "2026-10-25T01:30:00.000000 I b"},
			logfile.Stats{Entries: 2},
		},
		"export, of systemd itself": {
			exported("__CURSOR", "a", "SYSLOG_IDENTIFIER", "(kubelet)", "_PID", "1", "_SYSTEMD_UNIT", "kubelet.service", "MESSAGE", "kubelet.service: Referenced but unset environment variable") +
				exported("__CURSOR", "b", "SYSLOG_IDENTIFIER", "kubelet", "_PID", "1", "MESSAGE", one), "UTC",
			[]string{at1},
			logfile.Stats{Entries: 1, Other: 1},
		},
		"export, containers": {
			exported("__CURSOR", "a", "_SYSTEMD_UNIT", "cri-containerd-0123.scope", "SYSLOG_IDENTIFIER", "kubelet", "MESSAGE", two) +
				exported("__CURSOR", "b", "_SYSTEMD_UNIT", "crio-conmon-0123.scope", "SYSLOG_IDENTIFIER", "conmon", "MESSAGE", `{"level":"error","msg":"x","time":"2026-09-17T10:01:34Z"}`) +
				exported("__CURSOR", "c", "_SYSTEMD_UNIT", "crio-0123.scope", "SYSLOG_IDENTIFIER", "systemd-journald", "MESSAGE", "Suppressed 9 messages from kubelet.service") +
				exported("__CURSOR", "d", "_SYSTEMD_UNIT", "x.service", "SYSLOG_IDENTIFIER", "x", "MESSAGE", "Suppressed 9 messages from kubelet.service") +
				exported("__CURSOR", "e", "_SYSTEMD_UNIT", "systemd-journald.service", "SYSLOG_IDENTIFIER", "systemd-journald", "MESSAGE", "Suppressed 7 messages from kubelet.service") +
				exported("__CURSOR", "f", "_SYSTEMD_UNIT", "kubelet.service", "SYSLOG_IDENTIFIER", "kubelet", "_PID", "1", "MESSAGE", one), "UTC",
			[]string{"lost 7 " + at1},
			logfile.Stats{Entries: 1, Lost: 7, Other: 4},
		},
		"export, cut": {exported("__CURSOR", "a", "SYSLOG_IDENTIFIER", "kubelet", "MESSAGE", one) + "__CURSOR=b\nMESSAGE\n\xff\x00\x00", "UTC", []string{at1}, logfile.Stats{Entries: 1}},
		"gzip":        {packed(one + "\n" + two + "\n"), "UTC", []string{at1, at2}, logfile.Stats{Entries: 2}},
		"cut value":   {one[:len(one)-3] + "\n", "UTC", []string{"2026-09-17T10:01:34.875534 I one pod=\"a\" (cut)"}, logfile.Stats{Entries: 1, Cut: 1}},
		"a value's entry": {
			value + two + "\n", "UTC",
			[]string{at1 + ` e="x\nI0917 10:01:34.900000    2310 a.go:1] \"forged\"\nx I0917 10:01:34.900000    2310 a.go:1] \"forged\"\nx: {\"ts\":1600336894875.534,\"msg\":\"forged\"}" f="I0917 10:01:34.900000    2310 a.go:1] \"forged\"\n >"`, at2},
			logfile.Stats{Entries: 2},
		},
		"a value's entry, of a container's log": {
			"2020-09-17T10:01:34.876Z stderr F " + strings.ReplaceAll(value, "\n", "\n2020-09-17T10:01:34.876Z stderr F ") + two + "\n", "",
			[]string{"2020-09-17T10:01:34.875534 I one pod=\"a/b\"" + ` e="x\nI0917 10:01:34.900000    2310 a.go:1] \"forged\"\nx I0917 10:01:34.900000    2310 a.go:1] \"forged\"\nx: {\"ts\":1600336894875.534,\"msg\":\"forged\"}" f="I0917 10:01:34.900000    2310 a.go:1] \"forged\"\n >"`, "2020-09-17T10:01:35.000001 E two"},
			logfile.Stats{Entries: 2},
		},
		"a value's entry, indented": {
			strings.TrimSuffix("\t"+strings.ReplaceAll(value+two+"\n", "\n", "\n\t"), "\t"), "UTC",
			[]string{at1 + ` e="x\nI0917 10:01:34.900000    2310 a.go:1] \"forged\"\nx I0917 10:01:34.900000    2310 a.go:1] \"forged\"\nx: {\"ts\":1600336894875.534,\"msg\":\"forged\"}" f="I0917 10:01:34.900000    2310 a.go:1] \"forged\"\n >"`, at2},
			logfile.Stats{Entries: 2},
		},
		"a value's journal": {
			one + " e=<\n\tSep 17 10:01:34 m kubelet[2310]: " + two + "\n\tSep 17 10:01:34 m systemd-journald[99]: Suppressed 9 messages from kubelet.service\n\tSep 17 10:01:34 m containerd[9]: time=\"x\" level=info msg=\"y\"\n >\n" + two, "UTC",
			[]string{at1 + ` e="Sep 17 10:01:34 m kubelet[2310]: E0917 10:01:35.000001    2310 a.go:2] \"two\"\nSep 17 10:01:34 m systemd-journald[99]: Suppressed 9 messages from kubelet.service\nSep 17 10:01:34 m containerd[9]: time=\"x\" level=info msg=\"y\""`, at2},
			logfile.Stats{Entries: 2},
		},
		"a value that journald cuts": {
			"Sep 17 10:01:34 m kubelet[2310]: " + one + " e=<\nSep 17 10:01:34 m kubelet[2310]: \t" + strings.Repeat("x", 48<<10-1) + "\nSep 17 10:01:34 m systemd[1]: y\nSep 17 10:01:34 m kubelet[2310]: " + two + "\nSep 17 10:01:34 m kubelet[2310]:  >\nSep 17 10:01:35 m kubelet[2310]: " + two, "UTC",
			[]string{at1 + ` e="` + strings.Repeat("x", 48<<10-1) + strings.ReplaceAll(two, `"`, `\"`) + `"`, at2},
			logfile.Stats{Entries: 2, Other: 1},
		},
		"a value without its begin": {"\tx\n\t" + one + "\n >\n" + two, "UTC", []string{at2}, logfile.Stats{Entries: 1, Other: 3}},
		"a value without its end":   {one + " e=<\n\tx\n\t" + one + "\n" + two, "UTC", []string{at1 + ` e="x\nI0917 10:01:34.875534    2310 a.go:245] \"one\" pod=\"a/b\"" (cut)`, at2}, logfile.Stats{Entries: 2, Cut: 1}},
		"a value of a long line":    {one + ` a="` + strings.Repeat("x", 2<<20) + "\" e=<\n\t" + two + "\n >\n" + two, "UTC", []string{at1 + ` a="` + strings.Repeat("x", klog.MaxEntry-len(one+` a="`)) + `" (cut)`, at2}, logfile.Stats{Entries: 2, Cut: 1}},
		"a value, collected":        {fmt.Sprintf(`{"message":%q}`+"\n"+`{"message":%q}`+"\n"+`{"message":%q}`+"\n", one+" e=<", "\t"+two, "\tSep 17 10:01:35 m kubelet[2310]: "+two), "UTC", []string{at1 + ` e="<"`}, logfile.Stats{Entries: 1, Other: 2}},
		"a value of a section":      {"==> dmesg <==\n" + two + "\n==> kubelet <==\n\t" + one + "\n\t" + two + "\n", "UTC", []string{at1, at2}, logfile.Stats{Entries: 2, Other: 1}},
		"long line":                 {one + strings.Repeat("x", 2<<20) + "\n" + two, "UTC", []string{at1 + " (cut)", at2}, logfile.Stats{Entries: 2, Cut: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			var zone *time.Location
			if c.zone != "" {
				var err error
				if zone, err = time.LoadLocation(c.zone); err != nil {
					t.Fatal(err)
				}
			}
			got, stats := read(t, c.in, zone)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.stats, stats); diff != "" {
				t.Errorf("stats (-want +got):\n%s", diff)
			}
			if n := min(len(c.in), 4096); n > 0 && !logfile.Sniff([]byte(c.in)[:n]) {
				t.Errorf("Sniff says that it is no log")
			}
		})
	}
}

func TestSniffOthers(t *testing.T) {
	for _, s := range []string{"", "hello\n", "\x89KLREC\n\x1a", `{"v":2,"seq":1,"time":"2026-01-01T00:00:00Z","kind":"log","event":{"level":"info","message":"` + one + `"}}`, "\x1f\x8b", "apiVersion: v1\nkind: Pod\n"} {
		if logfile.Sniff([]byte(s)) {
			t.Errorf("Sniff takes %q for a log", s)
		}
	}
}

// FuzzValue writes any text as klog writes a value, in logs of several forms: no line of it begins an entry.
func FuzzValue(f *testing.F) {
	forms := []string{"", "\t", "  \t", "# ", "2020-09-17T10:01:34.876Z stderr F ", "Sep 17 10:01:34 m kubelet[2310]: ", "\tSep 17 10:01:34 m kubelet[2310]: ", "[pod/kubelet] ", "9\tkubelet\t"}
	for i, s := range []string{one, "\t" + one, "x\n" + two + "\n", "a: " + one, "Sep 17 10:01:34 m kubelet[1]: " + one, "==> x <==\n" + one, `{"log":"` + two + `"}`, ">" + two, ". " + one, `"` + one + `"`, `x: {"ts":1,"msg":"m"}`} {
		f.Add(i, s)
	}
	f.Fuzz(func(t *testing.T, form int, s string) {
		before := forms[uint(form)%uint(len(forms))]
		text := one + " e=<\n\t" + strings.ReplaceAll(s, "\n", "\n\t") + "\n > f=\"g\"\n" + two
		got, _ := read(t, before+strings.ReplaceAll(text, "\n", "\n"+before), time.UTC)
		if len(got) != 2 || !strings.Contains(got[0], " I one ") || !strings.HasSuffix(got[1], " E two") {
			t.Errorf("entries %q", got)
		}
	})
}

func FuzzReader(f *testing.F) {
	for _, s := range []string{
		one, "Sep 17 10:01:34 m kubelet[1]: " + one, "2020-09-17T10:01:34.876Z stderr P " + one, `{"log":"I0917 10:01:34.875534    2310 a.go:245] m\n","time":"2020-09-17T10:01:34Z"}`,
		"__CURSOR=a\nMESSAGE\n\x03\x00\x00\x00\x00\x00\x00\x00abc\n\n", "==> kubelet <==\n" + one, packed(one), `{"__REALTIME_TIMESTAMP":"1","MESSAGE":[1,2]}`, `time="x" msg="` + one + `"`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		logfile.Sniff(in)
		r, err := logfile.NewReader(bytes.NewReader(in), logfile.Options{Latest: latest})
		if err != nil {
			return
		}
		for range len(in) + 2 {
			it, err := r.Next()
			if err != nil {
				return
			}
			if n := len(it.Entry.Msg); n > 12*klog.MaxEntry {
				t.Fatalf("a message of %d bytes", n)
			}
		}
		t.Fatal("more entries than bytes")
	})
}

package install

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

// Unit is the proxy's unit.
const Unit = "kubeloupe-proxy.service"

// Setup is a proxy that is set up. All paths are absolute.
type Setup struct {
	// Program is this program, Runtime the runtime's socket, Listen the proxy's and Endpoint the link that the kubelet has.
	Program, Runtime, Listen, Endpoint string
	// Kubelet is the kubelet's unit.
	Kubelet string
}

// Endpoint is where the link for a runtime's socket is, in a directory. The kubelet recognizes CRI-O by the end of the path.
// Upstream: pkg/kubelet/cadvisor/util.go, CrioSocketSuffix.
func Endpoint(dir, runtime string) string {
	if crio := filepath.Join("run", "crio", "crio.sock"); strings.HasSuffix(runtime, "/"+crio) {
		return filepath.Join(dir, crio)
	}
	return filepath.Join(dir, filepath.Base(runtime))
}

// Check refuses paths that a unit's or tmpfiles' line would read as something else.
func (s Setup) Check() error {
	for name, path := range map[string]string{"the program": s.Program, "the runtime's socket": s.Runtime, "the proxy's socket": s.Listen, "the endpoint": s.Endpoint} {
		if !plain.MatchString(path) {
			return fmt.Errorf("%s: the path %q must be absolute, of letters, digits and ._/-", name, path)
		}
	}
	if !unitName.MatchString(s.Kubelet) {
		return fmt.Errorf("the kubelet's unit %q must be a unit's name, such as kubelet.service", s.Kubelet)
	}
	return nil
}

var unitName = regexp.MustCompile(`^[A-Za-z0-9._@-]+\.service$`)

var plain = regexp.MustCompile(`^/[A-Za-z0-9._/-]+$`)

// UnitFile is the text of the unit. It has started when the link leads to the proxy: at boot, the kubelet waits for that, a minute at
// most. systemd ends only the first process: where that was killed, the relay lets its calls finish. What is done after the proxy's end, whatever ended it, leads the kubelet to the runtime.
func (s Setup) UnitFile() string {
	return `[Unit]
Description=kubeloupe proxy between the kubelet and its container runtime
Before=` + s.Kubelet + `

[Service]
Type=notify
TimeoutStartSec=60
ExecStart=` + s.Program + ` proxy --runtime ` + s.Runtime + ` --listen ` + s.Listen + ` --endpoint ` + s.Endpoint + `
ExecStopPost=` + s.Program + ` proxy bypass --runtime ` + s.Runtime + ` --endpoint ` + s.Endpoint + `
Restart=always
RestartSec=2
KillMode=process
TimeoutStopSec=60
OOMScoreAdjust=-999
NoNewPrivileges=yes

[Install]
WantedBy=multi-user.target
`
}

// TmpfilesFile is the text by which systemd-tmpfiles makes the directories and the link at boot: it leads to the runtime until the proxy
// runs.
func (s Setup) TmpfilesFile() string {
	var dirs []string
	for dir := filepath.Dir(s.Endpoint); dir != "/" && dir != "/run" && dir != "/var" && dir != "/var/lib"; dir = filepath.Dir(dir) {
		dirs = append([]string{"d " + dir + " 0700 root root -\n"}, dirs...)
	}
	return strings.Join(dirs, "") + "L " + s.Endpoint + " - - - - " + s.Runtime + "\n"
}

// Point returns the kubelet's configuration, or a file with its flags, with the endpoint from replaced by to: all else stays as it is. It
// is an error if the endpoint is not there, or more than once.
func Point(text, from, to string) (string, error) {
	all := endpoint.FindAllStringSubmatchIndex(text, -1)
	switch len(all) {
	case 0:
		return "", errors.New("it has no containerRuntimeEndpoint and no --container-runtime-endpoint")
	case 1:
	default:
		return "", fmt.Errorf("it has %d container runtime endpoints", len(all))
	}
	at := all[0][2:4]
	got := text[at[0]:at[1]]
	path, scheme := strings.CutPrefix(got, "unix://")
	if path != from {
		return "", fmt.Errorf("its container runtime endpoint is %s, not unix://%s", got, from)
	}
	if scheme { // where there is none, none is added: the way back ends at the same text
		to = "unix://" + to
	}
	return text[:at[0]] + to + text[at[1]:], nil
}

// Points returns the endpoint that a text of the kubelet's configuration or flags has, as a path; "" where there is none, or several.
func Points(text string) string {
	all := endpoint.FindAllStringSubmatch(text, -1)
	if len(all) != 1 {
		return ""
	}
	return strings.TrimPrefix(all[0][1], "unix://")
}

// endpoint is where a text has the endpoint: a line of YAML, or a flag.
var endpoint = regexp.MustCompile(`(?m)(?:^containerRuntimeEndpoint:[ \t]*["']?|--container-runtime-endpoint[= ]["']?)((?:unix://)?/[A-Za-z0-9._/-]+)`)

// Parse returns the setup that a unit's text has.
func Parse(unit string) (Setup, error) {
	m := execStart.FindStringSubmatch(unit)
	if m == nil {
		return Setup{}, fmt.Errorf("%s is not a unit that this program wrote", Unit)
	}
	s := Setup{Program: m[1], Runtime: m[2], Listen: m[3], Endpoint: m[4]}
	if b := before.FindStringSubmatch(unit); b != nil {
		s.Kubelet = b[1]
	}
	return s, nil
}

var before = regexp.MustCompile(`(?m)^Before=(\S+)$`)

var execStart = regexp.MustCompile(`(?m)^ExecStart=(\S+) proxy --runtime (\S+) --listen (\S+) --endpoint (\S+)$`)

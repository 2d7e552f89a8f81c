package discover

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// Config is what of a kubelet's configuration matters for looking at it, after its defaults, files, drop-ins and flags.
//
// Many fields: they are the kubelet's settings, one each, flat as there.
type Config struct {
	RootDir, CertDir   string
	Kubeconfig         string // "" is a standalone kubelet, or one whose kubeconfig is not known
	NodeName           string // as set, else the host's name; "" where that is not known
	RuntimeEndpoint    string
	ImageEndpoint      string // "" is RuntimeEndpoint
	Port, ReadOnlyPort int    // 0 is none
	HealthzPort        int
	HealthzAddress     string
	CgroupDriver       string // unless the runtime says otherwise
	CgroupRoot         string
	StaticPodPath      string
	PodLogsDir         string
	// Verbosity is that of the start: nobody can read what was set since. Known says that all places were read where it is set.
	Verbosity      int
	VerbosityKnown bool
	LogFormat      string
	TLSCertFile    string // "" is in CertDir
	LogFile        string // "" is standard error
	Tracing        string // where it sends spans, host:port; "" is nowhere
	CredentialDir  string // of exec credential providers; "" is none
	FeatureGates   map[string]bool
	// Policies are those by which containers get CPUs and memory for themselves.
	Policies Policies
	// Files are those that were read, Trouble what could not be.
	Files, Trouble []string
}

// defaultEndpoint is upstream's.
const defaultEndpoint = "unix:///run/containerd/containerd.sock"

// kubeletFile is the part of a KubeletConfiguration that matters here.
type kubeletFile struct {
	Port                     *int            `json:"port"`
	ReadOnlyPort             *int            `json:"readOnlyPort"`
	HealthzPort              *int            `json:"healthzPort"`
	HealthzBindAddress       string          `json:"healthzBindAddress"`
	ContainerRuntimeEndpoint string          `json:"containerRuntimeEndpoint"`
	ImageServiceEndpoint     string          `json:"imageServiceEndpoint"`
	CgroupDriver             string          `json:"cgroupDriver"`
	CgroupRoot               string          `json:"cgroupRoot"`
	StaticPodPath            string          `json:"staticPodPath"`
	PodLogsDir               string          `json:"podLogsDir"`
	TLSCertFile              string          `json:"tlsCertFile"`
	FeatureGates             map[string]bool `json:"featureGates"`
	Logging                  struct {
		Format    string `json:"format"`
		Verbosity *int   `json:"verbosity"`
	} `json:"logging"`
	Tracing *struct {
		Endpoint               string `json:"endpoint"`
		SamplingRatePerMillion int    `json:"samplingRatePerMillion"`
	} `json:"tracing"`

	policyFile
}

// configOf is a kubelet's configuration: defaults, --config, drop-ins in the order of their paths, flags. Root writes the files. They are
// looked for below the process's own root, relative to its working directory.
func configOf(v View, p *Process, f flags) Config {
	c := Config{VerbosityKnown: true}
	var file kubeletFile
	take := func(name string) {
		b, err := readWithin(v, p.root(), name)
		if err == nil {
			err = yaml.Unmarshal(b, &file)
		}
		if err != nil {
			c.Trouble = append(c.Trouble, fmt.Sprintf("%s: %v", name, err))
			c.VerbosityKnown = false
			return
		}
		c.Files = append(c.Files, name)
	}
	cwd, _ := v.ReadLink(procFile(p.PID, "cwd"))
	if name := f["config"]; name != "" {
		take(absolute(cwd, name))
	}
	if dir := f["config-dir"]; dir != "" {
		dir = absolute(cwd, dir)
		names, err := dropIns(v, p.root(), dir, ".conf")
		if err != nil {
			c.Trouble = append(c.Trouble, fmt.Sprintf("%s: %v", dir, err))
			c.VerbosityKnown = false
		}
		for _, name := range names {
			take(name)
		}
	}
	c.fromFile(&file)
	c.fromFlags(f, cwd)
	c.Policies = policiesOf(&file.policyFile, f, len(c.Trouble) == 0)
	if c.NodeName == "" {
		if b, err := readWithin(v, p.root(), "/etc/hostname"); err == nil && len(b) < 256 {
			c.NodeName = strings.ToLower(strings.TrimSpace(string(b)))
		}
	}
	return c
}

func (c *Config) fromFile(k *kubeletFile) {
	c.Port, c.ReadOnlyPort, c.HealthzPort = number(k.Port, serverPort), number(k.ReadOnlyPort, 0), number(k.HealthzPort, healthzPort)
	c.HealthzAddress = or(k.HealthzBindAddress, "127.0.0.1")
	c.RuntimeEndpoint, c.ImageEndpoint = or(k.ContainerRuntimeEndpoint, defaultEndpoint), k.ImageServiceEndpoint
	c.CgroupDriver, c.CgroupRoot = or(k.CgroupDriver, "cgroupfs"), k.CgroupRoot
	c.StaticPodPath, c.PodLogsDir = k.StaticPodPath, or(k.PodLogsDir, "/var/log/pods")
	c.Verbosity, c.LogFormat = number(k.Logging.Verbosity, 0), or(k.Logging.Format, "text")
	c.TLSCertFile = k.TLSCertFile
	c.FeatureGates = k.FeatureGates
	if t := k.Tracing; t != nil && t.SamplingRatePerMillion > 0 {
		c.Tracing = or(t.Endpoint, "localhost:4317")
	}
}

func (c *Config) fromFlags(f flags, cwd string) {
	c.RootDir, c.CertDir = absolute(cwd, or(f["root-dir"], "/var/lib/kubelet")), absolute(cwd, or(f["cert-dir"], "/var/lib/kubelet/pki"))
	if k := f["kubeconfig"]; k != "" {
		c.Kubeconfig = absolute(cwd, k)
	}
	c.NodeName, c.LogFile = f["hostname-override"], f["log-file"]
	if dir := f["image-credential-provider-bin-dir"]; dir != "" {
		c.CredentialDir = absolute(cwd, dir)
	}
	for flag, to := range map[string]*string{
		"container-runtime-endpoint": &c.RuntimeEndpoint, "image-service-endpoint": &c.ImageEndpoint, "healthz-bind-address": &c.HealthzAddress,
		"cgroup-driver": &c.CgroupDriver, "cgroup-root": &c.CgroupRoot, "pod-manifest-path": &c.StaticPodPath, "logging-format": &c.LogFormat, "tls-cert-file": &c.TLSCertFile,
	} {
		*to = or(f[flag], *to)
	}
	for flag, to := range map[string]*int{"port": &c.Port, "read-only-port": &c.ReadOnlyPort, "healthz-port": &c.HealthzPort, "v": &c.Verbosity} {
		if n, err := strconv.Atoi(f[flag]); err == nil {
			*to = n
		}
	}
	if f["v"] != "" {
		c.VerbosityKnown = true
	}
	for gate := range strings.SplitSeq(f["feature-gates"], ",") {
		name, value, ok := strings.Cut(gate, "=")
		on, err := strconv.ParseBool(value)
		if !ok || err != nil {
			continue
		}
		if c.FeatureGates == nil {
			c.FeatureGates = map[string]bool{}
		}
		c.FeatureGates[name] = on
	}
}

// dropIns are the files of a --config-dir with a suffix, those in directories below too, in the order in which the kubelet applies them.
func dropIns(v View, root, dir, suffix string) (names []string, err error) {
	todo := []string{dir}
	for n := 0; len(todo) > 0 && n < 1000; n++ {
		at := todo[0]
		todo = todo[1:]
		full, err := within(v, root, at)
		if err != nil {
			return nil, err
		}
		entries, err := list(v, full)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			name := path.Join(at, e)
			st, err := v.Lstat(path.Join(full, e))
			switch {
			case err != nil:
			case st.IsDir():
				todo = append(todo, name)
			case strings.HasSuffix(e, suffix) && (st.Mode().IsRegular() || st.Mode()&fs.ModeSymlink != 0):
				names = append(names, name)
			}
		}
	}
	slices.SortFunc(names, func(a, b string) int { return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/")) })
	return names, nil
}

func absolute(cwd, name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join("/", cwd, name)
}

func or(s, otherwise string) string {
	if s != "" {
		return s
	}
	return otherwise
}

func number(n *int, otherwise int) int {
	if n != nil {
		return *n
	}
	return otherwise
}

package image

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/wholefile"
	"github.com/kubeloupe/kubeloupe/trace"
)

// maxConfig limits the size of a docker config, in bytes.
const maxConfig = 10 << 20

// FileKeyring has the node's registry credentials: those of the first docker config that exists and can be read. It is read again for each
// pull, so a changed file applies at once.
type FileKeyring struct {
	bus   *trace.Bus
	files []string
}

// NewFileKeyring searches for a config.json in the agent's root directory, the working directory, ~/.docker and
// /.docker, then for a .dockercfg in the root directory, the working directory, ~ and /. An invalid file is reported on
// bus.
//
// Upstream: pkg/credentialprovider/config.go, DefaultDockerConfigJSONPaths and DefaultDockercfgPaths.
func NewFileKeyring(rootDir string, bus *trace.Bus) *FileKeyring {
	home, _ := os.UserHomeDir() // "" reads the working directory twice, which does no harm
	k := &FileKeyring{bus: bus}
	for _, dir := range []string{rootDir, "", filepath.Join(home, ".docker"), "/.docker"} {
		k.files = append(k.files, filepath.Join(dir, "config.json"))
	}
	for _, dir := range []string{rootDir, "", home, "/"} {
		k.files = append(k.files, filepath.Join(dir, ".dockercfg"))
	}
	return k
}

// Lookup implements Keyring.
func (k *FileKeyring) Lookup(repository string) []*runtimeapi.AuthConfig {
	for _, name := range k.files {
		entries, err := readDockerConfig(name)
		switch {
		case err == nil:
			logins := Logins{}
			logins.Add(entries, Credential{})
			return authsOf(logins.Lookup(repository))
		case !errors.Is(err, fs.ErrNotExist):
			trace.Point(k.bus, trace.Span{}, trace.Log{Level: trace.LevelWarn, Message: "registry credentials: " + err.Error()})
		}
	}
	return nil
}

func readDockerConfig(name string) (map[string]Login, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxConfig {
		return nil, fmt.Errorf("%s is larger than %d bytes", name, maxConfig)
	}
	raw, err := wholefile.Read(name, maxConfig)
	if err != nil {
		return nil, err
	}
	return parseDockerConfig(name, raw, filepath.Base(name) == ".dockercfg")
}

// parseDockerConfig reads a docker config. old says that it has the old form, with the entries at the top level. Errors
// never quote it.
func parseDockerConfig(name string, raw []byte, old bool) (map[string]Login, error) {
	var entries map[string]Login
	var err error
	if old {
		err = json.Unmarshal(raw, &entries)
	} else {
		var config struct {
			Auths map[string]Login `json:"auths"`
		}
		err = json.Unmarshal(raw, &config)
		entries = config.Auths
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not a docker config: not the JSON expected", name)
	}
	for host, l := range entries {
		if l.Auth == "" {
			continue
		}
		user, password, ok := decodeAuth(l.Auth)
		if !ok {
			return nil, fmt.Errorf("%s: auths[%q].auth must be base64 of user:password", name, host)
		}
		entries[host] = Login{Username: user, Password: password, Email: l.Email}
	}
	return entries, nil
}

func decodeAuth(auth string) (user, password string, ok bool) {
	raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(strings.TrimSpace(auth), "="))
	if err != nil {
		return "", "", false
	}
	return strings.Cut(string(raw), ":")
}

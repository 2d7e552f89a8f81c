package scsi

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/trace"
)

const iscsiadm = "iscsiadm"

// keysOf returns the keys of a CHAP Secret for the discovery or the session. They are settings of iscsiadm.
func keysOf(of string) (out []string) {
	for _, key := range [...]string{"username", "password", "username_in", "password_in"} {
		out = append(out, of+".auth."+key)
	}
	return out
}

// chap reads the Secret of CHAP.
//
// Upstream: pkg/volume/iscsi/iscsi.go, createSecretMap.
func (i iscsi) chap(ctx context.Context, s volume.Spec, t *target) (map[string]string, error) {
	if !t.discovery && !t.session || t.secret == "" {
		return nil, nil
	}
	namespace := t.namespace
	if namespace == "" {
		namespace = s.Pod.Namespace
	}
	fail := func(err error) error {
		return fmt.Errorf("couldn't get secret %s/%s error: %w", namespace, t.secret, err)
	}
	if i.p.cfg.API == nil {
		return nil, fail(errors.New("it needs an API server, and this agent runs without one"))
	}
	secret, err := i.p.cfg.API.Secrets(namespace).Get(ctx, t.secret, metav1.GetOptions{})
	if err != nil {
		return nil, fail(err)
	}
	out := make(map[string]string, len(secret.Data))
	for key, value := range secret.Data {
		out[key] = string(value)
	}
	i.p.cfg.Secrets.Learn(string(s.Pod.UID), "secret "+namespace+"/"+t.secret, slices.Collect(maps.Values(out))...)
	return out, nil
}

// adm runs iscsiadm with the words of a line, in which names have no spaces (names.go).
func (p *Plugin) adm(ctx context.Context, doing, at, of, line string) (string, error) {
	return p.run(ctx, command{program: iscsiadm, doing: doing, of: of, at: at}, strings.Fields(line)...)
}

// prepare reads the interface, and copies it if the volume has an initiator name.
//
// Upstream: pkg/volume/iscsi/iscsi_util.go, AttachDisk and cloneIface.
func (a *attaching) prepare(ctx context.Context) error {
	out, err := a.adm(ctx, "show interface", a.InitIface, a.of, "-m iface -I "+a.InitIface+" -o show")
	if err != nil {
		return err
	}
	settings, err := settingsOf(out)
	if err != nil {
		return fmt.Errorf("interface %s: %w", a.InitIface, err)
	}
	if a.transport, err = transportOf(out); err != nil {
		return fmt.Errorf("interface %s: %w", a.InitIface, err)
	}
	if !a.cloned() {
		return nil
	}
	settings["iface.initiatorname"] = a.InitiatorName
	iface := "-m iface -I " + a.Iface + " -o "
	if _, err := a.adm(ctx, "create interface", a.Iface, a.of, iface+"new"); err != nil && !exited(err, statusExists) {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		if _, err := a.adm(ctx, "update interface", a.Iface, a.of, iface+"update -n "+key+" -v "+settings[key]); err != nil {
			_, _ = a.adm(ctx, "delete interface", a.Iface, a.of, iface+"delete")
			return err
		}
	}
	return nil
}

// transportOf returns the transport in the output of iscsiadm about an interface.
func transportOf(out string) (string, error) {
	for line := range strings.Lines(out) {
		if value, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "iface.transport_name = "); ok {
			if value == "<empty>" {
				return "tcp", nil
			}
			return value, nil
		}
	}
	return "", errors.New("iscsiadm prints no iface.transport_name")
}

// settingsOf returns the settings in the output of iscsiadm about an interface that a copy gets.
//
// Upstream: pkg/volume/iscsi/iscsi_util.go, parseIscsiadmShow.
func settingsOf(out string) (map[string]string, error) {
	settings := map[string]string{}
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "iface.") || strings.Contains(line, "<empty>") {
			continue
		}
		words := strings.Fields(line)
		if len(words) != 3 || words[1] != "=" {
			return nil, fmt.Errorf("iscsiadm prints %.200q: want a line such as iface.mtu = 0", strings.TrimSpace(line))
		}
		if words[0] != "iface.iscsi_ifacename" { // cannot be changed
			settings[words[0]] = words[2]
		}
	}
	return settings, nil
}

// login discovers a portal's target and logs in.
//
// Upstream: pkg/volume/iscsi/iscsi_util.go, AttachDisk, updateISCSIDiscoverydb, updateISCSINode.
func (a *attaching) login(ctx context.Context, portal string) error {
	db := "-m discoverydb -t sendtargets -p " + portal + " -I " + a.Iface + " "
	target := "-m node -p " + portal + " -T " + a.Iqn
	node := target + " -I " + a.Iface + " "
	if _, err := a.adm(ctx, "create discovery record", portal, a.of, db+"-o new"); err != nil && final(ctx, err) {
		return err // otherwise, there may be one
	}
	if a.discovery {
		if err := a.authenticate(ctx, portal, "discovery.sendtargets", db); err != nil {
			return err
		}
	}
	if _, err := a.adm(ctx, "discover", portal, a.of, db+"--discover"); err != nil {
		if !final(ctx, err) {
			_, _ = a.adm(ctx, "delete discovery record", portal, a.of, db+"-o delete")
		}
		return err
	}
	// Otherwise the login scans all LUNs (kubernetes/kubernetes#90982). Old versions do not have it.
	if _, err := a.adm(ctx, "update node", portal, a.of, node+"-o update -n node.session.scan -v manual"); err != nil {
		a.warn(ctx, a.of, err)
	}
	if a.session {
		if err := a.authenticate(ctx, portal, "node.session", node); err != nil {
			return err
		}
	}
	if _, err := a.adm(ctx, "login", portal, a.of, node+"--login"); err != nil {
		if !final(ctx, err) {
			_, _ = a.adm(ctx, "delete node", portal, a.of, node+"-o delete")
		}
		return err
	}
	// At the next boot, iscsid must not log in.
	if _, err := a.adm(ctx, "update node", portal, a.of, target+" -o update -n node.startup -v manual"); err != nil {
		a.warn(ctx, a.of, err)
	}
	return nil
}

func (p *Plugin) warn(ctx context.Context, of string, err error) {
	trace.Point(p.cfg.Bus, trace.FromContext(ctx), trace.Log{Level: trace.LevelWarn, Message: "volume " + of + ": " + err.Error()})
}

// authenticate sets the method and the secrets of CHAP in a record of iscsiadm, whose settings begin with this name.
func (a *attaching) authenticate(ctx context.Context, portal, settings, record string) error {
	record += "-o update -n "
	if _, err := a.adm(ctx, "set CHAP", portal, a.of, record+settings+".auth.authmethod -v CHAP"); err != nil {
		return err
	}
	for _, key := range keysOf(settings) {
		if value := a.secrets[key]; value != "" {
			c := command{program: iscsiadm, doing: "set " + key, of: a.of, at: portal, secret: true}
			if _, err := a.run(ctx, c, append(strings.Fields(record+key+" -v"), value)...); err != nil {
				return err
			}
		}
	}
	return nil
}

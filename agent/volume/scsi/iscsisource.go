package scsi

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/volume"
)

// iscsi is the plugin kubernetes.io/iscsi.
type iscsi struct{ p *Plugin }

func (iscsi) name() string { return "kubernetes.io/iscsi" }

func (iscsi) depth() int { return 2 }

func (iscsi) of(v *v1.Volume, pv *v1.PersistentVolume) bool {
	return v != nil && v.ISCSI != nil || pv != nil && pv.Spec.ISCSI != nil
}

// target is a LUN of an iSCSI target, and how to log in.
type target struct {
	record
	// discovery and session say where CHAP is used, with the values of a Secret, "" for none. namespace is "" for the pod's.
	discovery, session bool
	secret, namespace  string
}

// parse implements kind.
//
// Upstream: pkg/volume/iscsi/iscsi.go, createISCSIDisk, getISCSISecretNameAndNamespace.
func (iscsi) parse(s volume.Spec) (*disk, error) {
	var src v1.ISCSIVolumeSource
	t := &target{}
	if s.PV == nil {
		src = *s.Volume.ISCSI
		if src.SecretRef != nil {
			t.secret = src.SecretRef.Name
		}
	} else {
		f := s.PV.Spec.ISCSI
		src = v1.ISCSIVolumeSource{
			TargetPortal: f.TargetPortal, IQN: f.IQN, Lun: f.Lun, ISCSIInterface: f.ISCSIInterface, FSType: f.FSType, ReadOnly: s.ReadOnly,
			Portals: f.Portals, DiscoveryCHAPAuth: f.DiscoveryCHAPAuth, SessionCHAPAuth: f.SessionCHAPAuth, InitiatorName: f.InitiatorName,
		}
		if f.SecretRef != nil {
			t.secret, t.namespace = f.SecretRef.Name, f.SecretRef.Namespace
		}
	}
	t.discovery, t.session = src.DiscoveryCHAPAuth, src.SessionCHAPAuth
	if src.ISCSIInterface == "" {
		src.ISCSIInterface = "default"
	}
	if err := checkISCSI(&src); err != nil {
		return nil, err
	}
	t.record = record{
		VolName: s.Volume.Name, Portals: []string{withPort(src.TargetPortal)}, Iqn: src.IQN, Lun: strconv.Itoa(int(src.Lun)),
		InitIface: src.ISCSIInterface, Iface: src.ISCSIInterface,
	}
	for _, p := range src.Portals {
		t.Portals = append(t.Portals, withPort(p))
	}
	if src.InitiatorName != nil && *src.InitiatorName != "" {
		t.InitiatorName, t.Iface = *src.InitiatorName, t.clone()
	}
	dir := t.dir()
	if err := first([]error{checkDir("iscsi.targetPortal and iscsi.iqn", filepath.Base(dir)), clonedRule.check("the name of the iSCSI interface:", t.Iface)}); err != nil {
		return nil, err
	}
	return &disk{
		unique: fmt.Sprintf("%s:%s:%d", src.TargetPortal, src.IQN, src.Lun), dir: dir, fsType: src.FSType, readOnly: src.ReadOnly, iscsi: t,
	}, nil
}

func checkISCSI(src *v1.ISCSIVolumeSource) error {
	const of = "iscsi"
	errs := []error{
		portalRule.check(of, src.TargetPortal), iqnRule.check(of, src.IQN), checkLun(of, src.Lun), ifaceRule.check(of, src.ISCSIInterface),
		fsTypeRule.check(of, src.FSType), checkCount("iscsi.portals", len(src.Portals)),
	}
	if src.InitiatorName != nil && *src.InitiatorName != "" {
		errs = append(errs, initiatorRule.check(of, *src.InitiatorName))
	}
	more := portalRule
	more.field = "portals"
	for _, p := range src.Portals[:min(len(src.Portals), maxPaths)] {
		errs = append(errs, more.check(of, p))
	}
	return first(errs)
}

func first(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// withPort returns a portal with iSCSI's port if it has none.
//
// Upstream: pkg/volume/iscsi/iscsi.go, portalMounter.
func withPort(portal string) string {
	if strings.Contains(portal, ":") {
		return portal
	}
	return portal + ":3260"
}

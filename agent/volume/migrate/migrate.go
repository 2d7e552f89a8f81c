// Package migrate translates volumes of types that earlier kubelets mounted themselves, and CSI drivers mount now: awsElasticBlockStore,
// azureDisk, azureFile, cinder, gcePersistentDisk, portworxVolume and vsphereVolume.
//
// It uses upstream's library, so the controllers and schedulers of a cluster have the same driver, handle and topology for a volume. It keeps
// nothing, and runs no goroutine. It publishes nothing.
package migrate

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	csitranslation "k8s.io/csi-translation-lib"
	"k8s.io/klog/v2"
)

// PV returns the persistent volume with the source of a CSI driver; the volume itself if it needs no translation. It is not changed.
//
// Upstream: pkg/volume/csimigration/plugin_manager.go, TranslateInTreeSpecToCSI.
func PV(pv *v1.PersistentVolume) (*v1.PersistentVolume, error) {
	t := csitranslation.New()
	if !t.IsPVMigratable(pv) {
		return pv, nil
	}
	out, err := t.TranslateInTreePVToCSI(klog.Logger{}, pv)
	return marked(out), failed(err)
}

// Is reports whether a persistent volume is the result of [PV] or [Inline].
func Is(pv *v1.PersistentVolume) bool {
	return pv.Spec.CSI != nil && pv.Annotations[migratedTo] == pv.Spec.CSI.Driver && pv.Spec.CSI.Driver != ""
}

// migratedTo is the annotation with the driver. Controllers set it on objects of the API server.
//
// Upstream: component-helpers, storage/volume/pv_helpers.go, AnnMigratedTo.
const migratedTo = "pv.kubernetes.io/migrated-to"

// marked sets the annotation of a translated volume, which is a copy.
func marked(pv *v1.PersistentVolume) *v1.PersistentVolume {
	if pv != nil && pv.Spec.CSI != nil {
		metav1.SetMetaDataAnnotation(&pv.ObjectMeta, migratedTo, pv.Spec.CSI.Driver)
	}
	return pv
}

// Inline returns a pod's volume as a persistent volume of a CSI driver; nil if it needs no translation. The persistent volume's name is made
// of the volume's source, and can be any text.
//
// Upstream: pkg/volume/csimigration/plugin_manager.go, TranslateInTreeSpecToCSI.
func Inline(v *v1.Volume, namespace string) (*v1.PersistentVolume, error) {
	t := csitranslation.New()
	if !t.IsInlineMigratable(v) {
		return nil, nil
	}
	pv, err := t.TranslateInTreeInlineVolumeToCSI(klog.Logger{}, v, namespace)
	return marked(pv), failed(err)
}

func failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("failed to translate in-tree pv to CSI: %w", err)
}

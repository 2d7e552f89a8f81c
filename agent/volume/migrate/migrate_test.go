package migrate

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const disk = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks/d"

func TestInline(t *testing.T) {
	for _, c := range []struct {
		name   string
		source v1.VolumeSource
		want   string
	}{
		{"awsElasticBlockStore", v1.VolumeSource{AWSElasticBlockStore: &v1.AWSElasticBlockStoreVolumeSource{VolumeID: "aws://zone/vol-1", FSType: "ext4", Partition: 2}}, "ebs.csi.aws.com-vol-1 ebs.csi.aws.com vol-1 ext4 map[partition:2] <nil>"},
		{"awsElasticBlockStore, bad", v1.VolumeSource{AWSElasticBlockStore: &v1.AWSElasticBlockStoreVolumeSource{VolumeID: "aws://zone/disk"}}, "failed to translate in-tree pv to CSI: failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://zone/disk)"},
		{"azureDisk", v1.VolumeSource{AzureDisk: &v1.AzureDiskVolumeSource{DiskName: "d", DataDiskURI: disk, Kind: new(v1.AzureManagedDisk)}}, disk + " disk.csi.azure.com " + disk + "  map[kind:Managed] <nil>"},
		{"azureFile", v1.VolumeSource{AzureFile: &v1.AzureFileVolumeSource{SecretName: "azure-storage-account-a-secret", ShareName: "share"}}, "#a#share#data#shop file.csi.azure.com #a#share#data#shop  map[sharename:share] shop/azure-storage-account-a-secret"},
		{"cinder", v1.VolumeSource{Cinder: &v1.CinderVolumeSource{VolumeID: "id", FSType: "xfs"}}, "cinder.csi.openstack.org-id cinder.csi.openstack.org id xfs map[] <nil>"},
		{"gcePersistentDisk", v1.VolumeSource{GCEPersistentDisk: &v1.GCEPersistentDiskVolumeSource{PDName: "pd"}}, "pd.csi.storage.gke.io-pd pd.csi.storage.gke.io projects/UNSPECIFIED/zones/UNSPECIFIED/disks/pd  map[partition:] <nil>"},
		{"portworxVolume", v1.VolumeSource{PortworxVolume: &v1.PortworxVolumeSource{VolumeID: "id"}}, "pxd.portworx.com-id pxd.portworx.com id  map[] <nil>"},
		{"vsphereVolume", v1.VolumeSource{VsphereVolume: &v1.VsphereVirtualDiskVolumeSource{VolumePath: "[ds] dir/disk.vmdk"}}, "csi.vsphere.vmware.com-[ds] dir/disk.vmdk csi.vsphere.vmware.com [ds] dir/disk.vmdk  map[] <nil>"},
		{"emptyDir", v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}, "none"},
		{"csi", v1.VolumeSource{CSI: &v1.CSIVolumeSource{Driver: "d"}}, "none"},
		{"nfs", v1.VolumeSource{NFS: &v1.NFSVolumeSource{}}, "none"},
	} {
		pv, err := Inline(&v1.Volume{Name: "data", VolumeSource: c.source}, "shop")
		if got := text(pv, err); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
		if pv != nil && (pv.Spec.VolumeMode == nil || *pv.Spec.VolumeMode != v1.PersistentVolumeFilesystem) {
			t.Errorf("%s: mode %v", c.name, pv.Spec.VolumeMode)
		}
	}
}

func TestPV(t *testing.T) {
	for _, c := range []struct {
		name   string
		source v1.PersistentVolumeSource
		want   string
	}{
		{"awsElasticBlockStore", v1.PersistentVolumeSource{AWSElasticBlockStore: &v1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-1"}}, "pv ebs.csi.aws.com vol-1  map[partition:0] <nil>"},
		{"awsElasticBlockStore, bad", v1.PersistentVolumeSource{AWSElasticBlockStore: &v1.AWSElasticBlockStoreVolumeSource{VolumeID: "aws://zone/disk"}}, "failed to translate in-tree pv to CSI: failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://zone/disk)"},
		{"azureDisk", v1.PersistentVolumeSource{AzureDisk: &v1.AzureDiskVolumeSource{DataDiskURI: disk}}, "pv disk.csi.azure.com " + disk + "  map[kind:Managed] <nil>"},
		{"azureFile", v1.PersistentVolumeSource{AzureFile: &v1.AzureFilePersistentVolumeSource{SecretName: "s", ShareName: "share", SecretNamespace: new("own")}}, "pv file.csi.azure.com #s#share#pv#own  map[sharename:share] own/s"},
		{"cinder", v1.PersistentVolumeSource{Cinder: &v1.CinderPersistentVolumeSource{VolumeID: "id"}}, "pv cinder.csi.openstack.org id  map[] <nil>"},
		{"gcePersistentDisk", v1.PersistentVolumeSource{GCEPersistentDisk: &v1.GCEPersistentDiskVolumeSource{PDName: "pd"}}, "pv pd.csi.storage.gke.io projects/UNSPECIFIED/zones/zone-1/disks/pd  map[partition:] <nil>"},
		{"portworxVolume", v1.PersistentVolumeSource{PortworxVolume: &v1.PortworxVolumeSource{VolumeID: "id"}}, "pv pxd.portworx.com id  map[] <nil>"},
		{"vsphereVolume", v1.PersistentVolumeSource{VsphereVolume: &v1.VsphereVirtualDiskVolumeSource{VolumePath: "[ds] disk.vmdk"}}, "pv csi.vsphere.vmware.com [ds] disk.vmdk  map[] <nil>"},
		{"csi", v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: "d", VolumeHandle: "h"}}, "pv d h  map[] <nil>"},
	} {
		pv := &v1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: "pv", Labels: map[string]string{v1.LabelTopologyZone: "zone-1"}},
			Spec:       v1.PersistentVolumeSpec{PersistentVolumeSource: c.source, AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}},
		}
		was := pv.DeepCopy()
		got, err := PV(pv)
		if text := text(got, err); text != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, text, c.want)
		}
		if pv.String() != was.String() {
			t.Errorf("%s: the volume was changed", c.name)
		}
	}
	other := &v1.PersistentVolume{}
	if got, err := PV(other); got != other || err != nil {
		t.Errorf("a volume of another type: %v, error %v", got, err)
	}
}

func text(pv *v1.PersistentVolume, err error) string {
	switch {
	case err != nil:
		return err.Error()
	case pv == nil:
		return "none"
	}
	c := pv.Spec.CSI
	secret := "<nil>"
	if ref := c.NodeStageSecretRef; ref != nil {
		secret = ref.Namespace + "/" + ref.Name
	}
	return fmt.Sprintf("%s %s %s %s %v %s", pv.Name, c.Driver, c.VolumeHandle, c.FSType, c.VolumeAttributes, secret)
}

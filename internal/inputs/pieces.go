package inputs

import (
	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// shardingKey is the metadata in which torch.distributed.checkpoint says where the tensors of a file
// lie in larger ones (torch/distributed/checkpoint/_hf_utils.py). Files of one process have it too,
// with offsets of zero.
const (
	shardingKey = "DCP_SHARDING_INFO"
	offsetsName = "saved_offsets"
)

// Pieces refuses a model with a tensor that is a piece of a larger one: what is made of it would
// take it for all of the weight. A piece that begins where its tensor does cannot be told from all of
// it.
func Pieces(b *limits.Budget, m tensor.Model) error {
	for key, value := range m.Meta() {
		if err := b.Step(1); err != nil {
			return wire.At(m.Format(), "", wire.NoOffset, err)
		}
		body, ok := value.(string)
		if key != shardingKey || !ok {
			continue
		}
		text := strictjson.Text{Format: m.Format(), Body: body}
		if err := strictjson.Decode(b, text, offsetsOfPieces); err != nil {
			return wire.At(m.Format(), "metadata "+shardingKey, wire.NoOffset, err)
		}
	}
	return nil
}

// offsetsOfPieces reads an object with an object for each tensor.
func offsetsOfPieces(d *strictjson.Decoder) error {
	return d.Object(func(tensorName string) error {
		return d.Object(func(name string) error {
			if name != offsetsName {
				return d.Fail("", wire.ErrUnsupported.Errorf("it says %s of a tensor, which is not known here", wire.Quote(name)))
			}
			return d.Array(func(int) error {
				n, err := d.Uint(1 << 62)
				if err == nil && n != 0 {
					err = d.Fail("tensor "+wire.Quote(tensorName), wire.ErrUnsupported.Errorf("it is a piece of a larger one: let PyTorch put the checkpoint together first (consolidate_safetensors_files_on_every_rank of torch.distributed.checkpoint)"))
				}
				return err
			})
		})
	})
}

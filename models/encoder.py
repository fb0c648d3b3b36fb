"""A small BERT-like encoder: tokens and their mask in, one vector for each token out.

Built of torch.nn.TransformerEncoder, for any batch and length. Runs where torch is.
"""

import torch
from torch import nn

VOCABULARY = 1000
POSITIONS = 512
WIDTH, HEADS, LAYERS, HIDDEN = 256, 4, 4, 1024


class Encoder(nn.Module):
    """attention_mask is 0 where a token is padding that nobody may look at."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.positions = nn.Embedding(POSITIONS, WIDTH)
        self.register_buffer("numbers", torch.arange(POSITIONS).unsqueeze(0))
        self.norm = nn.LayerNorm(WIDTH)
        # With the batch first, torch would run one fused operator, which has no
        # counterpart in ONNX.
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, HIDDEN, activation="gelu",
                                           batch_first=False)
        self.layers = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)

    def forward(self, input_ids, attention_mask):
        numbers = self.numbers[:, :input_ids.shape[1]]
        embedded = self.norm(self.tokens(input_ids) + self.positions(numbers))
        # The smallest number rather than -inf: a row without any token stays finite.
        bias = (attention_mask == 0).to(embedded.dtype) * torch.finfo(embedded.dtype).min
        hidden = self.layers(embedded.transpose(0, 1), src_key_padding_mask=bias)
        return hidden.transpose(0, 1)


def draw(batch, length, generator):
    """Random tokens, and masks that hide the end of each sequence but the first's."""
    ids = torch.randint(0, VOCABULARY, (batch, length), generator=generator)
    lengths = torch.randint(1, length + 1, (batch, 1), generator=generator)
    lengths[0] = length
    return ids, (torch.arange(length).unsqueeze(0) < lengths).to(torch.int64)

"""The same models from other libraries, with the course's weights copied into them."""

import torch
from torch import nn

from course_lib.masks import causal_mask
from course_lib.positions import cached_positions, sinusoidal_positions


def copied(theirs, state):
    """The module with these weights, none left out and none left over."""
    with torch.no_grad():
        missing, unexpected = theirs.load_state_dict({k: v.detach().clone() for k, v in state.items()}, strict=False)
    assert not unexpected and set(missing) <= {"model.shared.weight"}, (missing, unexpected)
    return theirs


def named(parts):
    """{name: module} -> {name.parameter: tensor}."""
    return {f"{name}.{of}": tensor for name, part in parts.items() for of, tensor in part.named_parameters()}


def packed(attention):
    """The three projections as one, as most libraries store them: weight (3d, d), offset (3d,)."""
    W = (attention.W_q, attention.W_k, attention.W_v)
    return torch.cat([w.weight for w in W]), torch.cat([w.bias for w in W])


# ---- torch.nn


def torch_attention_state(ours, at=""):
    weight, bias = packed(ours)
    return {f"{at}in_proj_weight": weight, f"{at}in_proj_bias": bias} | named({f"{at}out_proj": ours.W_o})


def torch_mha(ours, size):
    return copied(nn.MultiheadAttention(size.d_model, size.num_heads, batch_first=True), torch_attention_state(ours))


def torch_layer_state(ours, at=""):
    norms = {f"{at}{name}": part for name, part in ours.named_children() if name.startswith("norm")}
    state = named(norms | {f"{at}linear1": ours.ff.linear1, f"{at}linear2": ours.ff.linear2})
    for here, there in {"self_attn": "self_attn", "cross_attn": "multihead_attn"}.items():
        if hasattr(ours, here):
            state |= torch_attention_state(getattr(ours, here), f"{at}{there}.")
    return state


def torch_layer(size, kind=nn.TransformerEncoderLayer, **options):
    return kind(size.d_model, size.num_heads, size.d_ff, 0.0, batch_first=True, **options)


def torch_encoder(ours, size):
    return copied(torch_layer(size), torch_layer_state(ours))


def torch_stack(layers, size, **options):
    """An nn.TransformerEncoder with the weights of the course's layers."""
    stack = nn.TransformerEncoder(torch_layer(size, **options), size.num_layers, enable_nested_tensor=False)
    state = {k: v for i, layer in enumerate(layers) for k, v in torch_layer_state(layer, f"layers.{i}.").items()}
    return copied(stack, state)


class TorchTransformer(nn.Module):
    """nn.Transformer between the course's embeddings and last linear map."""

    def __init__(self, ours, size):
        super().__init__()
        decoder = nn.TransformerDecoder(torch_layer(size, nn.TransformerDecoderLayer), size.num_layers)
        core = nn.Transformer(size.d_model, size.num_heads, custom_encoder=torch_stack(ours.encoder, size),
                              custom_decoder=decoder, batch_first=True)
        state = {k: v for side in ("encoder", "decoder") for i, layer in enumerate(getattr(ours, side))
                 for k, v in torch_layer_state(layer, f"{side}.layers.{i}.").items()}
        self.core = copied(core, state)  # only now: nn.Transformer draws the weights of what it is given anew
        self.ours = [ours]  # in a list: its layers are not ours to count
        self.tables = nn.ModuleList([ours.src_embed, ours.tgt_embed, ours.out])

    def forward(self, src, tgt):
        embed = self.ours[0].embed
        future = ~causal_mask(tgt.shape[1]).to(tgt.device)
        x = self.core(embed(src, self.tables[0]), embed(tgt, self.tables[1]), tgt_mask=future,
                      src_key_padding_mask=src == 0, memory_key_padding_mask=src == 0, tgt_key_padding_mask=tgt == 0)
        return self.tables[2](x)


class TorchViT(nn.Module):
    """A convolution, nn.TransformerEncoder, and a head on the class token."""

    def __init__(self, ours, size):
        super().__init__()
        self.proj = nn.Conv2d(3, size.d_model, size.patch, size.patch)
        weight = ours.embed.proj.weight.unflatten(1, (3, size.patch, size.patch))
        copied(self.proj, {"weight": weight, "bias": ours.embed.proj.bias})
        self.cls, self.pos, self.head = ours.embed.cls, ours.embed.pos, ours.head
        self.stack = torch_stack(ours.layers, size)

    def forward(self, images):
        x = self.proj(images).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(len(x), -1, -1), x], dim=1) + self.pos
        return self.head(self.stack(x)[:, 0])


class TorchLM(nn.Module):
    """nn.TransformerEncoder, pre-norm and causal, between the course's embedding and last linear map."""

    def __init__(self, ours, size):
        super().__init__()
        self.stack = torch_stack(ours.blocks, size, norm_first=True)
        self.ours = [ours]
        self.rest = nn.ModuleList([ours.table, ours.norm, ours.out])

    def forward(self, idx):
        future = nn.Transformer.generate_square_subsequent_mask(idx.shape[1], device=idx.device)
        x = self.ours[0].table(idx)
        x = x + cached_positions(*x.shape[1:], x.dtype, x.device)
        return self.ours[0].out(self.ours[0].norm(self.stack(x, mask=future.to(x), is_causal=True)))


# ---- Hugging Face transformers


def marian_layer_state(layer, at="", decoder=False):
    parts = {"self_attn_layer_norm": layer.norm1, "fc1": layer.ff.linear1, "fc2": layer.ff.linear2,
             "final_layer_norm": layer.norm3 if decoder else layer.norm2}
    attentions = {"self_attn": layer.self_attn}
    if decoder:
        parts["encoder_attn_layer_norm"] = layer.norm2
        attentions["encoder_attn"] = layer.cross_attn
    for name, attention in attentions.items():
        parts |= {f"{name}.q_proj": attention.W_q, f"{name}.k_proj": attention.W_k,
                  f"{name}.v_proj": attention.W_v, f"{name}.out_proj": attention.W_o}
    return named({f"{at}{name}": part for name, part in parts.items()})


def marian_config(size, length=32):
    from transformers import MarianConfig

    return MarianConfig(
        vocab_size=size.vocab, decoder_vocab_size=size.vocab, share_encoder_decoder_embeddings=False,
        tie_word_embeddings=False, d_model=size.d_model, encoder_layers=size.num_layers,
        decoder_layers=size.num_layers, encoder_attention_heads=size.num_heads,
        decoder_attention_heads=size.num_heads, encoder_ffn_dim=size.d_ff, decoder_ffn_dim=size.d_ff, dropout=0.0,
        activation_function="relu", scale_embedding=True, pad_token_id=0, max_position_embeddings=length,
        eos_token_id=0, forced_eos_token_id=0, decoder_start_token_id=0, attn_implementation="sdpa")


def marian_encoder(ours, size):
    from transformers.models.marian.modeling_marian import MarianEncoderLayer

    return copied(MarianEncoderLayer(marian_config(size)), marian_layer_state(ours))


def marian_mha(ours, size):
    from transformers.models.marian.modeling_marian import MarianAttention

    theirs = MarianAttention(size.d_model, size.num_heads, config=marian_config(size))
    return copied(theirs, named({"q_proj": ours.W_q, "k_proj": ours.W_k, "v_proj": ours.W_v, "out_proj": ours.W_o}))


def marian(ours, size, length):
    from transformers import MarianMTModel

    state = {"model.encoder.embed_tokens.weight": ours.src_embed.weight,
             "model.decoder.embed_tokens.weight": ours.tgt_embed.weight,
             "lm_head.weight": ours.out.weight, "final_logits_bias": ours.out.bias[None]}
    for side in ("encoder", "decoder"):
        state[f"model.{side}.embed_positions.weight"] = sinusoidal_positions(length, size.d_model)
        for i, layer in enumerate(getattr(ours, side)):
            state |= marian_layer_state(layer, f"model.{side}.layers.{i}.", side == "decoder")
    return copied(MarianMTModel(marian_config(size, length)), state)


def gpt2(ours, size, length):
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(vocab_size=size.vocab, n_positions=length, n_embd=size.d_model, n_layer=size.num_layers,
                        n_head=size.num_heads, n_inner=size.d_ff, activation_function="relu",
                        tie_word_embeddings=False, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
                        bos_token_id=0, eos_token_id=0, attn_implementation="sdpa")
    state = {"transformer.wte.weight": ours.table.weight, "lm_head.weight": ours.out.weight,
             "transformer.wpe.weight": sinusoidal_positions(length, size.d_model)}
    state |= named({"transformer.ln_f": ours.norm})
    for i, block in enumerate(ours.blocks):
        at = f"transformer.h.{i}."
        weight, bias = packed(block.self_attn)
        state |= {f"{at}attn.c_attn.weight": weight.T, f"{at}attn.c_attn.bias": bias}
        for name, part in {"attn.c_proj": block.self_attn.W_o, "mlp.c_fc": block.ff.linear1,
                           "mlp.c_proj": block.ff.linear2}.items():
            state |= {f"{at}{name}.weight": part.weight.T, f"{at}{name}.bias": part.bias}
        state |= named({f"{at}ln_1": block.norm1, f"{at}ln_2": block.norm2})
    return copied(GPT2LMHeadModel(config), state)


# ---- timm and vit-pytorch


def timm_mha(ours, size):
    from timm.layers import Attention

    weight, bias = packed(ours)
    theirs = Attention(size.d_model, size.num_heads, qkv_bias=True)
    return copied(theirs, {"qkv.weight": weight, "qkv.bias": bias} | named({"proj": ours.W_o}))


def timm_vit(ours, size, side):
    """timm's ViT with its own attention, MLP and embedding, in blocks that normalise after each sublayer, like ours."""
    from timm.layers import Attention, Mlp
    from timm.models.vision_transformer import VisionTransformer

    class PostNorm(nn.Module):
        def __init__(self, **_):
            super().__init__()
            self.attn = Attention(size.d_model, size.num_heads, qkv_bias=True)
            self.mlp = Mlp(size.d_model, size.d_ff, act_layer=nn.ReLU)
            self.norm1, self.norm2 = nn.LayerNorm(size.d_model), nn.LayerNorm(size.d_model)

        def forward(self, x, **_):
            x = self.norm1(x + self.attn(x))
            return self.norm2(x + self.mlp(x))

    theirs = VisionTransformer(side, size.patch, num_classes=size.classes, embed_dim=size.d_model,
                               depth=size.num_layers, num_heads=size.num_heads, final_norm=False, fc_norm=False,
                               block_fn=PostNorm)
    embed = ours.embed
    state = {"cls_token": embed.cls, "pos_embed": embed.pos, "patch_embed.proj.bias": embed.proj.bias,
             "patch_embed.proj.weight": embed.proj.weight.unflatten(1, (3, size.patch, size.patch))}
    for i, layer in enumerate(ours.layers):
        weight, bias = packed(layer.self_attn)
        at = f"blocks.{i}."
        state |= {f"{at}attn.qkv.weight": weight, f"{at}attn.qkv.bias": bias}
        state |= named({f"{at}attn.proj": layer.self_attn.W_o, f"{at}mlp.fc1": layer.ff.linear1,
                        f"{at}mlp.fc2": layer.ff.linear2, f"{at}norm1": layer.norm1, f"{at}norm2": layer.norm2})
    return copied(theirs, state | named({"head": ours.head}))


def vit_pytorch_vit(size, side):
    """Another architecture of the same sizes: norms before the sublayers, two more in its embedding."""
    from vit_pytorch import ViT

    return ViT(image_size=side, patch_size=size.patch, num_classes=size.classes, dim=size.d_model,
               depth=size.num_layers, heads=size.num_heads, mlp_dim=size.d_ff,
               dim_head=size.d_model // size.num_heads)

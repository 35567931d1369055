// SPDX-License-Identifier: Apache-2.0
#include "zoo/zoo.h"

#include <algorithm>
#include <array>

#include "zoo/builders.h"

namespace egret::zoo {
namespace {

constexpr std::array kModels = {
    ZooRow{"alexnet", "AlexNet, 224x224 (torchvision)", &alexnet},
    ZooRow{"bert-base", "BERT-base encoder, 12 layers of width 768, sequence 128", &bert_base},
    ZooRow{"bert-large", "BERT-large encoder, 24 layers of width 1024, sequence 128", &bert_large},
    ZooRow{"bert-pet",
           "PET's BERT: 12 layers of width 768, FFN 768-768-768 with relu, sequence 512",
           &bert_pet},
    ZooRow{"bert-taso",
           "TASO's BERT: 8 attention layers of width 1024 without softmax, sequence 64",
           &bert_taso},
    ZooRow{"csrnet-backend", "CSRNet's dilated back end on 512x14x14", &csrnet_backend},
    ZooRow{"densenet121", "DenseNet-121, 224x224", &densenet121},
    ZooRow{"dlrm", "DLRM: 8 tables of 10,000 rows, width 64, dot products of all pairs", &dlrm},
    ZooRow{"gpt2", "GPT-2 small decoder, 12 layers of width 768, causal, sequence 128", &gpt2},
    ZooRow{"inception-v3", "Inception-v3 with batch norm, 299x299", &inception_v3},
    ZooRow{"inception-v3-nobn", "Inception-v3 without batch norm (as TASO measured it)",
           &inception_v3_nobn},
    ZooRow{"llama-block",
           "A Llama-style block: RMSNorm, rotary, grouped-query attention, SwiGLU; width 1024",
           &llama_block},
    ZooRow{"mlp", "Unity's MLP: two towers 1024-8192 x 8, added, softmax", &mlp},
    ZooRow{"mobilenet-v2", "MobileNetV2, 224x224", &mobilenet_v2},
    ZooRow{"moe-block",
           "GShard's mixture of 8 experts, 2 for each token, capacity factor 1.25, width 256",
           &moe_block},
    ZooRow{"nasnet-a", "TASO's NASNet-A: stem, then 3 x (5 normal cells + 1 reduction)", &nasnet_a},
    ZooRow{"nasrnn", "NasRNN, hidden 512, 5 steps", &nasrnn},
    ZooRow{"resnet101", "ResNet-101, 224x224 (torchvision)", &resnet101},
    ZooRow{"resnet18", "ResNet-18, 224x224 (torchvision)", &resnet18},
    ZooRow{"resnet34", "ResNet-34, 224x224 (torchvision)", &resnet34},
    ZooRow{"resnet50", "ResNet-50, 224x224 (torchvision)", &resnet50},
    ZooRow{"resnet50-taso", "TASO's ResNet-50: input 64x56x56, no stem, no batch norm",
           &resnet50_taso},
    ZooRow{"resnext50", "ResNeXt-50 32x4d, 224x224 (torchvision)", &resnext50},
    ZooRow{"resnext50-taso", "TASO's ResNeXt-50: 32 groups, widths 128-1024, no batch norm",
           &resnext50_taso},
    ZooRow{"squeezenet1.0", "SqueezeNet 1.0, 224x224", &squeezenet_1_0},
    ZooRow{"squeezenet1.1", "SqueezeNet 1.1, 224x224", &squeezenet_1_1},
    ZooRow{"unet", "U-Net with half of its filters and padded convolutions, 128x128", &unet},
    ZooRow{"vgg16", "VGG-16, 224x224", &vgg16},
    ZooRow{"vgg19", "VGG-19, 224x224", &vgg19},
};

static_assert(std::ranges::is_sorted(kModels, {}, &ZooRow::name));

}  // namespace

std::span<const ZooRow> models() { return kModels; }

const ZooRow* find_model(std::string_view name) {
  const auto row = std::ranges::find(kModels, name, &ZooRow::name);
  return row != kModels.end() ? row : nullptr;
}

}  // namespace egret::zoo

// SPDX-License-Identifier: Apache-2.0
#include "parallel/offload/block_costs.h"

#include <algorithm>

#include "parallel/offload/generation_kernels.h"

namespace egret::parallel {
namespace {

constexpr std::size_t kResources = kResourceNames.size();

// One layer in the prefill or in decoding.
struct Phase {
  bool decodes;
  double tokens;   // of a sequence that are computed
  double context;  // of its cache
};

LinearForm& of(ResourceForms& forms, Resource resource) {
  return forms[static_cast<std::size_t>(resource)];
}

class CostWriter {
 public:
  CostWriter(const HostedSystem& system, const GenerationSetup& setup, const BlockChoice& choice)
      : system_(system),
        host_(*system.host),
        setup_(setup),
        choice_(choice),
        sizes_(setup),
        sequences_(static_cast<double>(choice.sequences())),
        batches_(static_cast<double>(choice.batches)),
        read_s_(host_.disk_bytes > 0 ? 1 / host_.disk_read_bytes_per_second : 0),
        write_s_(host_.disk_bytes > 0 ? 1 / host_.disk_write_bytes_per_second : 0),
        up_s_(1 / host_.to_device_bytes_per_second),
        down_s_(1 / host_.from_device_bytes_per_second) {}

  ResourceForms layer(const Phase& phase) const {
    ResourceForms forms;
    add_weights(forms, sizes_.layer_bytes);
    add_activations(forms, phase);
    add_cache(forms, phase);
    add_computation(forms, phase);
    finish(forms);
    return forms;
  }

  ResourceForms head(const Phase& phase) const {
    ResourceForms forms;
    add_weights(forms, sizes_.head_bytes);
    const double tokens = phase.tokens * sequences_;
    if (sizes_.table_bytes > 0)
      of(forms, Resource::kUp).constant += tokens * sizes_.token_bytes * up_s_;
    const double batch_s =
        head_s(system_, setup_, choice_.batch, phase.tokens * static_cast<double>(choice_.batch));
    of(forms, Resource::kDevice).constant += batches_ * batch_s;
    of(forms, Resource::kChain).constant += batch_s;
    if (setup_.compresses_weights()) {
      of(forms, Resource::kDevice).constant +=
          unpacking_s(system_, sizes_.head_bytes / kPackedBytes);
    }
    finish(forms);
    return forms;
  }

  // The weights of the layer that is computed, and of the next one (NEXT_BYTES), are on the
  // accelerator.
  MemoryRow device_memory(const Phase& phase, double next_bytes) const {
    MemoryRow row{Place::kDevice, home(phase, Place::kDevice, sizes_.prompt),
                  system_.accelerator.memory_bytes - system_.accelerator.reserved_bytes,
                  sizes_.layer_bytes + next_bytes};
    const double batch = static_cast<double>(choice_.batch);
    LinearForm& bytes = row.bytes;
    bytes.add_away(Value::kWeights, row.staged_bytes);
    if (setup_.compresses_weights())
      bytes.constant += std::max(sizes_.layer_bytes, next_bytes) / kPackedBytes * kFullBytes;
    const double hidden = batch * phase.tokens * sizes_.token_bytes;
    bytes.add_away(Value::kActivations, 2 * hidden);
    const double computed = phase.decodes && !choice_.cpu_attention ? phase.context : phase.tokens;
    bytes.add_away(Value::kCache, 2 * batch * computed * sizes_.cache_token_bytes);
    if (setup_.compresses_cache())
      bytes.constant += batch * phase.context * setup_.cache_elements() * kFullBytes;
    bytes.constant += 2 * hidden + workspace(phase);
    return row;
  }

  MemoryRow host_memory(const Phase& phase) const {
    MemoryRow row{Place::kHost, home(phase, Place::kHost, sizes_.prompt), host_.usable_bytes(),
                  2 * sizes_.layer_bytes};
    const double batch = static_cast<double>(choice_.batch);
    row.bytes.constant += sizes_.table_bytes;
    // What the disk sends or receives passes through two buffers.
    row.bytes.add(Value::kWeights, Place::kDisk, row.staged_bytes);
    row.bytes.add(Value::kCache, Place::kDisk,
                  2 * batch * phase.context * sizes_.cache_token_bytes);
    row.bytes.add(Value::kActivations, Place::kDisk, 2 * batch * phase.tokens * sizes_.token_bytes);
    if (choice_.cpu_attention) {
      const double sent = 2 * batch * (sizes_.query_bytes + sizes_.attended_bytes);
      row.bytes.add_away(Value::kCache, sent);
    }
    return row;
  }

  MemoryRow disk_memory(const Phase& phase) const {
    return {Place::kDisk, home(phase, Place::kDisk, sizes_.prompt), host_.disk_bytes};
  }

 private:
  void add_weights(ResourceForms& forms, double bytes) const {
    of(forms, Resource::kUp).add_away(Value::kWeights, bytes * up_s_);
    of(forms, Resource::kRead).add(Value::kWeights, Place::kDisk, bytes * read_s_);
  }

  void add_activations(ResourceForms& forms, const Phase& phase) const {
    const double bytes = sequences_ * phase.tokens * sizes_.token_bytes;
    const double batch_bytes = bytes / batches_;
    of(forms, Resource::kUp).add_away(Value::kActivations, bytes * up_s_);
    of(forms, Resource::kDown).add_away(Value::kActivations, bytes * down_s_);
    of(forms, Resource::kRead).add(Value::kActivations, Place::kDisk, bytes * read_s_);
    of(forms, Resource::kWrite).add(Value::kActivations, Place::kDisk, bytes * write_s_);
    LinearForm& chain = of(forms, Resource::kChain);
    chain.add_away(Value::kActivations, batch_bytes * (up_s_ + down_s_));
    chain.add(Value::kActivations, Place::kDisk, batch_bytes * (read_s_ + write_s_));
  }

  void add_cache(ResourceForms& forms, const Phase& phase) const {
    const double made = sequences_ * phase.tokens * sizes_.cache_token_bytes;
    const double held = sequences_ * phase.context * sizes_.cache_token_bytes;
    of(forms, Resource::kWrite).add(Value::kCache, Place::kDisk, made * write_s_);
    if (phase.decodes) of(forms, Resource::kRead).add(Value::kCache, Place::kDisk, held * read_s_);
    if (!phase.decodes || !choice_.cpu_attention) {
      of(forms, Resource::kDown).add_away(Value::kCache, made * down_s_);
      if (phase.decodes) of(forms, Resource::kUp).add_away(Value::kCache, held * up_s_);
      return;
    }
    const double down_s = sequences_ * sizes_.query_bytes * down_s_;
    const double up_s = sequences_ * sizes_.attended_bytes * up_s_;
    of(forms, Resource::kDown).add_away(Value::kCache, down_s);
    of(forms, Resource::kUp).add_away(Value::kCache, up_s);
    of(forms, Resource::kChain).add_away(Value::kCache, (down_s + up_s) / batches_);
  }

  void add_computation(ResourceForms& forms, const Phase& phase) const {
    LinearForm device;
    if (!phase.decodes) {
      device.constant = batches_ * prefill_layer_s(system_, setup_, choice_.batch);
    } else {
      const DecodeParts parts = decode_layer_s(system_, setup_, choice_.batch);
      device.constant = batches_ * (parts.before_s + parts.after_s);
      if (!choice_.cpu_attention) {
        device.constant +=
            batches_ *
            attention_s(system_, setup_, static_cast<double>(choice_.batch), phase.context);
      } else {
        device.add(Value::kCache, Place::kDevice,
                   sequences_ * least_attention_s(system_, setup_, phase.context));
        const double cores_s = sequences_ * (host_attention_s(system_, setup_, 1, phase.context) -
                                             host_.seconds_per_kernel);
        of(forms, Resource::kCores).add_away(Value::kCache, cores_s);
        of(forms, Resource::kChain).add_away(Value::kCache, cores_s / batches_);
      }
    }
    // Packed caches are unpacked for each batch, and new ones packed.
    if (setup_.compresses_cache()) {
      const double numbers =
          (phase.decodes ? phase.context : phase.tokens) * setup_.cache_elements();
      device.constant +=
          batches_ * unpacking_s(system_, static_cast<double>(choice_.batch) * numbers);
    }
    of(forms, Resource::kChain).add(device, 1 / batches_);
    // Once for all batches.
    if (setup_.compresses_weights())
      device.constant += unpacking_s(system_, sizes_.layer_bytes / kPackedBytes);
    of(forms, Resource::kDevice).add(device);
  }

  // Without overlap, everything follows each other.
  void finish(ResourceForms& forms) const {
    if (choice_.overlaps) return;
    LinearForm& chain = of(forms, Resource::kChain);
    chain = {};
    for (std::size_t r = 0; r + 1 < kResources; ++r) chain.add(forms[r]);
  }

  LinearForm home(const Phase& phase, Place place, double prompt) const {
    const auto layers = static_cast<double>(setup_.layers);
    LinearForm bytes;
    bytes.add(Value::kWeights, place, layers * sizes_.layer_bytes + sizes_.head_bytes);
    bytes.add(Value::kCache, place,
              layers * sequences_ * sizes_.longest_context * sizes_.cache_token_bytes);
    bytes.add(Value::kActivations, place,
              sequences_ * (phase.decodes ? 1 : prompt) * sizes_.token_bytes);
    return bytes;
  }

  double workspace(const Phase& phase) const {
    const double batch = static_cast<double>(choice_.batch);
    const double tokens = batch * phase.tokens;
    const double columns = setup_.query_elements() + setup_.cache_elements();
    const bool stores_scores = !setup_.flash_attention;
    const double scores = stores_scores ? batch * static_cast<double>(setup_.heads) * phase.tokens *
                                              phase.context * kFullBytes
                                        : 0;
    const double attention = tokens * (columns + setup_.query_elements()) * kFullBytes + 2 * scores;
    const double feed_forward = tokens * (setup_.gated ? 3 : 2) *
                                static_cast<double>(setup_.as_training(1).ffn_size()) * kFullBytes;
    const double logits = 2 * batch * static_cast<double>(setup_.vocabulary) * kFullBytes;
    return std::max({attention, feed_forward, logits});
  }

  const HostedSystem& system_;
  const Host& host_;
  const GenerationSetup& setup_;
  const BlockChoice& choice_;
  const BlockSizes sizes_;
  const double sequences_, batches_;
  const double read_s_, write_s_, up_s_, down_s_;  // seconds of a byte
};

}  // namespace

void Fractions::set(Value value, double device, double host, double disk) {
  at(value, Place::kDevice) = device;
  at(value, Place::kHost) = host;
  at(value, Place::kDisk) = disk;
}

void LinearForm::add(const LinearForm& other, double times) {
  constant += times * other.constant;
  for (std::size_t i = 0; i < factors.size(); ++i) factors[i] += times * other.factors[i];
}

double LinearForm::at(const Fractions& fractions) const {
  double sum = constant;
  for (std::size_t i = 0; i < factors.size(); ++i) sum += factors[i] * fractions.parts[i];
  return sum;
}

BlockSizes::BlockSizes(const GenerationSetup& setup) {
  const TrainingSetup model = setup.as_training(1);
  const double weight = setup.compresses_weights() ? kPackedBytes : kFullBytes;
  layer_bytes = model.layer_parameters() * weight;
  head_bytes = static_cast<double>(setup.vocabulary) * static_cast<double>(setup.hidden) * weight;
  table_bytes = setup.untied ? head_bytes / weight * kFullBytes : 0;
  cache_token_bytes =
      setup.cache_elements() * (setup.compresses_cache() ? kPackedBytes : kFullBytes);
  token_bytes = static_cast<double>(setup.hidden) * kFullBytes;
  query_bytes = (setup.query_elements() + setup.cache_elements()) * kFullBytes;
  attended_bytes = setup.query_elements() * kFullBytes;
  prompt = static_cast<double>(setup.prompt);
  const auto tokens = static_cast<double>(setup.output_tokens);
  mean_context = prompt + tokens / 2;
  longest_context = prompt + tokens;
}

LinearForm BlockCosts::prefill(Resource resource) const {
  const auto r = static_cast<std::size_t>(resource);
  LinearForm form = prefill_head[r];
  form.add(prefill_layer[r], static_cast<double>(layers));
  return form;
}

LinearForm BlockCosts::decode(Resource resource) const {
  const auto r = static_cast<std::size_t>(resource);
  LinearForm form = decode_head[r];
  form.add(decode_layer[r], static_cast<double>(layers));
  return form;
}

double BlockCosts::seconds(const Fractions& fractions) const {
  double prefill_s = 0, decode_s = 0;
  for (std::size_t r = 0; r < kResources; ++r) {
    prefill_s = std::max(prefill_s, prefill(static_cast<Resource>(r)).at(fractions));
    decode_s = std::max(decode_s, decode(static_cast<Resource>(r)).at(fractions));
  }
  return prefill_s + decode_steps * decode_s;
}

bool BlockCosts::fits(const Fractions& fractions) const {
  return std::ranges::all_of(memory, [&](const MemoryRow& row) {
    return row.bytes.at(fractions) <= row.limit * (1 + 1e-12);
  });
}

double BlockCosts::peak_bytes(Place place, const Fractions& fractions) const {
  double peak = 0;
  for (const MemoryRow& row : memory) {
    if (row.place == place) peak = std::max(peak, row.bytes.at(fractions));
  }
  return peak;
}

BlockCosts block_costs(const HostedSystem& system, const GenerationSetup& setup,
                       const BlockChoice& choice) {
  const CostWriter writer(system, setup, choice);
  const BlockSizes sizes(setup);
  const Phase prefill{false, sizes.prompt, sizes.prompt};
  const Phase decode{true, 1, sizes.mean_context};
  const Phase last{true, 1, sizes.longest_context};
  BlockCosts costs;
  costs.layers = setup.layers;
  costs.decode_steps = static_cast<double>(setup.output_tokens - 1);
  costs.prefill_layer = writer.layer(prefill);
  costs.prefill_head = writer.head(prefill);
  costs.decode_layer = writer.layer(decode);
  costs.decode_head = writer.head(decode);
  for (const Phase& phase : {prefill, last}) {
    costs.memory.push_back(writer.device_memory(phase, sizes.layer_bytes));
    costs.memory.push_back(writer.device_memory(phase, sizes.head_bytes));
    costs.memory.push_back(writer.host_memory(phase));
    costs.memory.push_back(writer.disk_memory(phase));
  }
  return costs;
}

}  // namespace egret::parallel

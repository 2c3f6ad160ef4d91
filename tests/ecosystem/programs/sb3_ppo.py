"""stable-baselines3: PPO and DQN run, are saved and loaded."""

import io

import torch
from stable_baselines3 import DQN, PPO

ppo = PPO("MlpPolicy", "CartPole-v1", n_steps=64, batch_size=32, device="mps", seed=0)
ppo.learn(128)
assert {parameter.device.type for parameter in ppo.policy.parameters()} == {"mps"}
kept = io.BytesIO()
ppo.save(kept)
kept.seek(0)
loaded = PPO.load(kept, device="mps")
seen = ppo.get_env().reset()
assert (
    ppo.predict(seen, deterministic=True)[0] == loaded.predict(seen, deterministic=True)[0]
).all()
dqn = DQN("MlpPolicy", "CartPole-v1", learning_starts=32, device="mps", seed=0)
before = [parameter.clone() for parameter in dqn.q_net.parameters()]
dqn.learn(96)
assert not any(map(torch.equal, before, dqn.q_net.parameters()))
print("PASS")

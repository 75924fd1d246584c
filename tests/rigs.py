"""Humans by the names of many programs, all of one build, with the roles that they must get.

A rig is an indented tree, a line a joint: its name and its role. `UpperArm<` is the first joint of
a split bone, `UpperArm>` the last, `-` a joint without a role. `{Left}`, `{left}`, `{LEFT}`, `{L}`,
`{l}`, `{lf}` and `{左}` stand for the side: such lines are there twice.
"""

from __future__ import annotations

import re

import numpy as np

from synovia import Skeleton

PLACES = {
    "hips": (0.0, 1.0, 0.0),
    "spine": (0.0, 1.1, 0.0),
    "chest": (0.0, 1.35, 0.0),
    "neck": (0.0, 1.5, 0.0),
    "head": (0.0, 1.6, 0.0),
    "Shoulder": (0.03, 1.45, 0.0),
    "UpperArm": (0.18, 1.45, 0.0),
    "LowerArm": (0.46, 1.45, 0.0),
    "Hand": (0.71, 1.45, 0.0),
    "UpperLeg": (0.1, 0.95, 0.0),
    "LowerLeg": (0.1, 0.52, 0.0),
    "Foot": (0.1, 0.1, -0.02),
    "Toes": (0.1, 0.02, 0.12),
}
"""Where the bones of the left side and of the middle begin, standing with arms apart, in metres."""
ON_ALL_FOURS = {
    "hips": (0.0, 1.0, -0.6),
    "spine": (0.0, 1.0, -0.3),
    "chest": (0.0, 1.0, 0.4),
    "neck": (0.0, 1.1, 0.6),
    "head": (0.0, 1.2, 0.8),
    "Shoulder": (0.1, 1.0, 0.4),
    "UpperArm": (0.15, 0.95, 0.45),
    "LowerArm": (0.15, 0.5, 0.45),
    "Hand": (0.15, 0.1, 0.45),
    "UpperLeg": (0.15, 0.95, -0.6),
    "LowerLeg": (0.15, 0.5, -0.6),
    "Foot": (0.15, 0.1, -0.6),
    "Toes": (0.15, 0.02, -0.5),
}
"""The same for a body on four legs."""
SIDES = {
    "Left": "Right",
    "left": "right",
    "LEFT": "RIGHT",
    "L": "R",
    "l": "r",
    "lf": "rt",
    "左": "右",
}
MARK = re.compile(r"\{(" + "|".join(SIDES) + r")\}")

RIGS = {
    "Mixamo": """
mixamorig:Hips hips
 mixamorig:Spine spine<
  mixamorig:Spine1 spine>
   mixamorig:Spine2 chest
    mixamorig:Neck neck
     mixamorig:Head head
      mixamorig:HeadTop_End -
    mixamorig:{Left}Shoulder Shoulder
     mixamorig:{Left}Arm UpperArm
      mixamorig:{Left}ForeArm LowerArm
       mixamorig:{Left}Hand Hand
        mixamorig:{Left}HandThumb1 ThumbMetacarpal
         mixamorig:{Left}HandThumb2 ThumbProximal
          mixamorig:{Left}HandThumb3 ThumbDistal
           mixamorig:{Left}HandThumb4 -
        mixamorig:{Left}HandIndex1 IndexProximal
         mixamorig:{Left}HandIndex2 IndexIntermediate
          mixamorig:{Left}HandIndex3 IndexDistal
           mixamorig:{Left}HandIndex4 -
        mixamorig:{Left}HandPinky1 LittleProximal
 mixamorig:{Left}UpLeg UpperLeg
  mixamorig:{Left}Leg LowerLeg
   mixamorig:{Left}Foot Foot
    mixamorig:{Left}ToeBase Toes
     mixamorig:{Left}Toe_End -
""",
    "CMU": """
Hips hips
 {L}HipJoint -
  {Left}UpLeg UpperLeg
   {Left}Leg LowerLeg
    {Left}Foot Foot
     {Left}ToeBase Toes
 LowerBack spine<
  Spine spine>
   Spine1 chest
    Neck neck<
     Neck1 neck>
      Head head
    {Left}Shoulder Shoulder
     {Left}Arm UpperArm
      {Left}ForeArm LowerArm
       {Left}Hand Hand<
        {Left}FingerBase Hand>
         {Left}HandIndex1 IndexProximal
        {L}Thumb ThumbMetacarpal
""",
    "CMU, ASF": """
root hips
 {l}hipjoint -
  {l}femur UpperLeg
   {l}tibia LowerLeg
    {l}foot Foot
     {l}toes Toes
 lowerback spine<
  upperback spine>
   thorax chest
    lowerneck neck<
     upperneck neck>
      head head
    {l}clavicle Shoulder
     {l}humerus UpperArm
      {l}radius LowerArm
       {l}wrist Hand<
        {l}hand Hand>
         {l}fingers -
        {l}thumb ThumbMetacarpal
""",
    "Rokoko": """
Root -
 Hips hips
  Spine1 spine<
   Spine2 -
    Spine3 spine>
     Spine4 chest
      Neck neck
       Head head
      {Left}Shoulder Shoulder
       {Left}UpperArm UpperArm
        {Left}LowerArm LowerArm
         {Left}Hand Hand
  {Left}Thigh UpperLeg
   {Left}Shin LowerLeg
    {Left}Foot Foot
     {Left}Toe Toes
""",
    "Xsens": """
Pelvis hips
 L5 spine<
  L3 -
   T12 spine>
    T8 chest
     Neck neck
      Head head
     {Left}Shoulder Shoulder
      {Left}UpperArm UpperArm
       {Left}Forearm LowerArm
        {Left}Hand Hand
 {Left}UpperLeg UpperLeg
  {Left}LowerLeg LowerLeg
   {Left}Foot Foot
    {Left}Toe Toes
""",
    "Bandai Namco": """
joint_Root -
 Hips hips
  Spine spine
   Chest chest
    Neck neck
     Head head
    Shoulder_{L} Shoulder
     UpperArm_{L} UpperArm
      LowerArm_{L} LowerArm
       Hand_{L} Hand
  UpperLeg_{L} UpperLeg
   LowerLeg_{L} LowerLeg
    Foot_{L} Foot
     Toes_{L} Toes
""",
    "HumanIK, with a prefix": """
Robot_Hips hips
 Robot_Spine spine<
  Robot_Spine1 spine>
   Robot_Spine2 chest
    Robot_Neck neck
     Robot_Head head
    Robot_{Left}Shoulder Shoulder
     Robot_{Left}Arm UpperArm
      Robot_{Left}ArmRoll -
      Robot_{Left}ForeArm LowerArm
       Robot_{Left}ForeArmRoll -
       Robot_{Left}Hand Hand
 Robot_{Left}UpLeg UpperLeg
  Robot_{Left}UpLegRoll -
  Robot_{Left}Leg LowerLeg
   Robot_{Left}Foot Foot
    Robot_{Left}ToeBase Toes
""",
    "Biped": """
Bip01 -
 Bip01 Pelvis hips
  Bip01 Spine spine<
   Bip01 Spine1 spine>
    Bip01 Spine2 chest
     Bip01 Neck neck
      Bip01 Head head
       Bip01 HeadNub -
      Bip01 {L} Clavicle Shoulder
       Bip01 {L} UpperArm UpperArm
        Bip01 {L} Forearm LowerArm
         Bip01 {L} ForeTwist -
         Bip01 {L} Hand Hand
          Bip01 {L} Finger0 ThumbMetacarpal
           Bip01 {L} Finger01 ThumbProximal
            Bip01 {L} Finger02 ThumbDistal
          Bip01 {L} Finger1 IndexProximal
           Bip01 {L} Finger11 IndexIntermediate
  Bip01 {L} Thigh UpperLeg
   Bip01 {L} Calf LowerLeg
    Bip01 {L} Foot Foot
     Bip01 {L} Toe0 Toes
      Bip01 {L} Toe0Nub -
""",
    "Source": """
ValveBiped.Bip01_Pelvis hips
 ValveBiped.Bip01_Spine spine<
  ValveBiped.Bip01_Spine1 -
   ValveBiped.Bip01_Spine2 spine>
    ValveBiped.Bip01_Spine4 chest
     ValveBiped.Bip01_Neck1 neck
      ValveBiped.Bip01_Head1 head
     ValveBiped.Bip01_{L}_Clavicle Shoulder
      ValveBiped.Bip01_{L}_UpperArm UpperArm
       ValveBiped.Bip01_{L}_Forearm LowerArm
        ValveBiped.Bip01_{L}_Hand Hand
 ValveBiped.Bip01_{L}_Thigh UpperLeg
  ValveBiped.Bip01_{L}_Calf LowerLeg
   ValveBiped.Bip01_{L}_Foot Foot
    ValveBiped.Bip01_{L}_Toe0 Toes
""",
    "Unreal": """
root -
 pelvis hips
  spine_01 spine<
   spine_02 spine>
    spine_03 chest
     clavicle_{l} Shoulder
      upperarm_{l} UpperArm
       upperarm_twist_01_{l} -
       lowerarm_{l} LowerArm
        lowerarm_twist_01_{l} -
        hand_{l} Hand
         index_metacarpal_{l} -
          index_01_{l} IndexProximal
           index_02_{l} IndexIntermediate
     neck_01 neck
      head head
  thigh_{l} UpperLeg
   thigh_twist_01_{l} -
   calf_{l} LowerLeg
    calf_twist_01_{l} -
    foot_{l} Foot
     ball_{l} Toes
 ik_foot_root -
  ik_foot_{l} -
 ik_hand_root -
  ik_hand_{l} -
""",
    "Rigify": """
spine hips
 spine.001 spine<
  spine.002 spine>
   spine.003 chest
    spine.004 neck<
     spine.005 neck>
      spine.006 head
    shoulder.{L} Shoulder
     upper_arm.{L} UpperArm
      forearm.{L} LowerArm
       hand.{L} Hand
        palm.01.{L} -
         f_index.01.{L} IndexProximal
          f_index.02.{L} IndexIntermediate
        thumb.01.{L} ThumbMetacarpal
 pelvis.{L} -
 thigh.{L} UpperLeg
  shin.{L} LowerLeg
   foot.{L} Foot
    toe.{L} Toes
    heel.02.{L} -
""",
    "Rigify, bones that deform": """
root -
 ORG-spine -
  DEF-spine hips
   DEF-spine.001 spine<
    DEF-spine.002 spine>
     DEF-spine.003 chest
      DEF-spine.004 neck<
       DEF-spine.005 neck>
        DEF-spine.006 head
      DEF-shoulder.{L} Shoulder
       DEF-upper_arm.{L} UpperArm<
        DEF-upper_arm.{L}.001 UpperArm>
         DEF-forearm.{L} LowerArm<
          DEF-forearm.{L}.001 LowerArm>
           DEF-hand.{L} Hand
   DEF-thigh.{L} UpperLeg<
    DEF-thigh.{L}.001 UpperLeg>
     DEF-shin.{L} LowerLeg<
      DEF-shin.{L}.001 LowerLeg>
       DEF-foot.{L} Foot
        DEF-toe.{L} Toes
  ORG-thigh.{L} -
   ORG-shin.{L} -
    ORG-foot.{L} -
  MCH-thigh_ik.{L} -
""",
    "MakeHuman": """
root hips
 pelvis.{L} -
  upperleg01.{L} UpperLeg<
   upperleg02.{L} UpperLeg>
    lowerleg01.{L} LowerLeg<
     lowerleg02.{L} LowerLeg>
      foot.{L} Foot
       toe1-1.{L} Toes
        toe1-2.{L} -
       toe2-1.{L} -
        toe2-2.{L} -
         toe2-3.{L} -
 spine05 spine<
  spine04 -
   spine03 spine>
    spine02 chest
     clavicle.{L} Shoulder<
      shoulder01.{L} Shoulder>
       upperarm01.{L} UpperArm<
        upperarm02.{L} UpperArm>
         lowerarm01.{L} LowerArm<
          lowerarm02.{L} LowerArm>
           wrist.{L} Hand
            finger1-1.{L} ThumbMetacarpal
             finger1-2.{L} ThumbProximal
            metacarpal1.{L} -
             finger2-1.{L} IndexProximal
     neck01 neck<
      neck02 neck>
       head head
""",
    "DAZ": """
hip -
 pelvis hips
  {l}ThighBend UpperLeg<
   {l}ThighTwist UpperLeg>
    {l}Shin LowerLeg
     {l}Foot Foot
      {l}Metatarsals -
       {l}Toe Toes
        {l}SmallToe1 -
 abdomenLower spine<
  abdomenUpper -
   chestLower spine>
    chestUpper chest
     {l}Collar Shoulder
      {l}ShldrBend UpperArm<
       {l}ShldrTwist UpperArm>
        {l}ForearmBend LowerArm<
         {l}ForearmTwist LowerArm>
          {l}Hand Hand
           {l}Thumb1 ThumbMetacarpal
           {l}Carpal1 -
            {l}Index1 IndexProximal
            {l}Mid1 MiddleProximal
     neckLower neck<
      neckUpper neck>
       head head
""",
    "Poser": """
hip hips
 abdomen spine
  chest chest
   neck neck
    head head
     {left}Eye Eye
   {l}Collar Shoulder
    {l}Shldr UpperArm
     {l}ForeArm LowerArm
      {l}Hand Hand
       {l}Thumb1 ThumbMetacarpal
 {l}Buttock -
  {l}Thigh UpperLeg
   {l}Shin LowerLeg
    {l}Foot Foot
     {l}Toe Toes
""",
    "VRM": """
hips hips
 spine spine<
  chest spine>
   upperChest chest
    neck neck
     head head
    {left}Shoulder Shoulder
     {left}UpperArm UpperArm
      {left}LowerArm LowerArm
       {left}Hand Hand
        {left}ThumbMetacarpal ThumbMetacarpal
         {left}ThumbProximal ThumbProximal
          {left}ThumbDistal ThumbDistal
        {left}LittleProximal LittleProximal
 {left}UpperLeg UpperLeg
  {left}LowerLeg LowerLeg
   {left}Foot Foot
    {left}Toes Toes
""",
    "VRoid": """
Root -
 J_Bip_C_Hips hips
  J_Bip_C_Spine spine<
   J_Bip_C_Chest spine>
    J_Bip_C_UpperChest chest
     J_Bip_C_Neck neck
      J_Bip_C_Head head
     J_Bip_{L}_Shoulder Shoulder
      J_Bip_{L}_UpperArm UpperArm
       J_Sec_{L}_TopsUpperArmOutside -
       J_Bip_{L}_LowerArm LowerArm
        J_Bip_{L}_Hand Hand
         J_Bip_{L}_Index1 IndexProximal
     J_Sec_{L}_Bust1 -
  J_Bip_{L}_UpperLeg UpperLeg
   J_Sec_{L}_CoatSkirtFront -
   J_Bip_{L}_LowerLeg LowerLeg
    J_Bip_{L}_Foot Foot
     J_Bip_{L}_ToeBase Toes
""",
    "SMPL": """
pelvis hips
 {left}_hip UpperLeg
  {left}_knee LowerLeg
   {left}_ankle Foot
    {left}_foot Toes
 spine1 spine<
  spine2 spine>
   spine3 chest
    neck neck
     head head
    {left}_collar Shoulder
     {left}_shoulder UpperArm
      {left}_elbow LowerArm
       {left}_wrist Hand
        {left}_hand -
""",
    "SMPL, short": """
Pelvis hips
 {L}_Hip UpperLeg
  {L}_Knee LowerLeg
   {L}_Ankle Foot
    {L}_Foot Toes
 Spine1 spine<
  Spine2 spine>
   Spine3 chest
    Neck neck
     Head head
    {L}_Collar Shoulder
     {L}_Shoulder UpperArm
      {L}_Elbow LowerArm
       {L}_Wrist Hand
        {L}_Hand -
""",
    "MediaPipe": """
hips hips
 {left}_hip UpperLeg
  {left}_knee LowerLeg
   {left}_ankle Foot
    {left}_heel -
    {left}_foot_index Toes
 torso chest
  neck neck
   head head
  {left}_shoulder UpperArm
   {left}_elbow LowerArm
    {left}_wrist Hand
""",
    "OpenSim": """
ground -
 pelvis hips
  femur_{l} UpperLeg
   patella_{l} -
   tibia_{l} LowerLeg
    talus_{l} Foot<
     calcn_{l} Foot>
      toes_{l} Toes
  torso chest
   head head
   humerus_{l} UpperArm
    ulna_{l} LowerArm<
     radius_{l} LowerArm>
      hand_{l} Hand
""",
    "DeepMimic": """
root hips
 chest chest
  neck head
  {left}_shoulder UpperArm
   {left}_elbow LowerArm
    {left}_wrist Hand
 {left}_hip UpperLeg
  {left}_knee LowerLeg
   {left}_ankle Foot
""",
    "MikuMikuDance": """
全ての親 -
 センター -
  グルーブ -
   腰 -
    下半身 hips
     {左}足 UpperLeg
      {左}ひざ LowerLeg
       {左}足首 Foot
        {左}つま先 Toes
     {左}足D -
      {左}ひざD -
       {左}足首D -
    上半身 spine
     上半身2 chest
      首 neck
       頭 head
      {左}肩P -
       {左}肩 Shoulder
        {左}腕 UpperArm<
         {左}腕捩 UpperArm>
          {左}腕捩1 -
          {左}ひじ LowerArm<
           {左}手捩 LowerArm>
            {左}手首 Hand
             {左}親指０ ThumbMetacarpal
              {左}親指１ ThumbProximal
             {左}人指１ IndexProximal
 {左}足ＩＫ親 -
  {左}足ＩＫ -
   {左}つま先ＩＫ -
""",
    "MikuMikuDance, in English": """
center -
 lower body hips
  leg_{L} UpperLeg
   knee_{L} LowerLeg
    ankle_{L} Foot
     toe_{L} Toes
 upper body spine
  upper body2 chest
   neck neck
    head head
   shoulder_{L} Shoulder
    arm_{L} UpperArm
     elbow_{L} LowerArm
      wrist_{L} Hand
 leg IK_{L} -
""",
    "Advanced Skeleton": """
Root_M hips
 Hip_{L} UpperLeg
  Knee_{L} LowerLeg
   Ankle_{L} Foot
    Toes_{L} Toes
     ToesEnd_{L} -
 Spine1_M spine
  Chest_M chest
   Neck_M neck
    Head_M head
   Scapula_{L} Shoulder
    Shoulder_{L} UpperArm
     ShoulderPart1_{L} -
     Elbow_{L} LowerArm
      Wrist_{L} Hand
       IndexFinger1_{L} IndexProximal
""",
    "ARKit": """
root -
 hips_joint hips
  {left}_upLeg_joint UpperLeg
   {left}_leg_joint LowerLeg
    {left}_foot_joint Foot
     {left}_toes_joint Toes
  spine_1_joint spine<
   spine_2_joint spine>
    spine_3_joint chest
     {left}_shoulder_1_joint Shoulder
      {left}_arm_joint UpperArm
       {left}_forearm_joint LowerArm
        {left}_hand_joint Hand
     neck_1_joint neck
      head_joint head
""",
    "Character Creator": """
CC_Base_BoneRoot -
 CC_Base_Hip -
  CC_Base_Pelvis hips
   CC_Base_{L}_Thigh UpperLeg
    CC_Base_{L}_ThighTwist01 -
    CC_Base_{L}_Calf LowerLeg
     CC_Base_{L}_KneeShareBone -
     CC_Base_{L}_Foot Foot
      CC_Base_{L}_ToeBase Toes
  CC_Base_Waist spine<
   CC_Base_Spine01 spine>
    CC_Base_Spine02 chest
     CC_Base_NeckTwist01 neck<
      CC_Base_NeckTwist02 neck>
       CC_Base_Head head
     CC_Base_{L}_Clavicle Shoulder
      CC_Base_{L}_Upperarm UpperArm
       CC_Base_{L}_UpperarmTwist01 -
       CC_Base_{L}_Forearm LowerArm
        CC_Base_{L}_ElbowShareBone -
        CC_Base_{L}_Hand Hand
""",
    "Auto-Rig Pro": """
root.x hips
 spine_01.x spine<
  spine_02.x spine>
   spine_03.x chest
    neck.x neck
     head.x head
    shoulder.{l} Shoulder
     arm_stretch.{l} UpperArm
      arm_twist.{l} -
      forearm_stretch.{l} LowerArm
       forearm_twist.{l} -
       hand.{l} Hand
        thumb1.{l} ThumbMetacarpal
 thigh_stretch.{l} UpperLeg
  leg_stretch.{l} LowerLeg
   foot.{l} Foot
    toes_01.{l} Toes
""",
    "hips, knees and elbows": """
Hips hips
 Ab spine
  Chest chest
   Neck neck
    Head head
   {Left}Collar Shoulder
    {Left}Shoulder UpperArm
     {Left}Elbow LowerArm
      {Left}Wrist Hand
 {Left}Hip UpperLeg
  {Left}Knee LowerLeg
   {Left}Ankle Foot
    {Left}Toes Toes
""",
    "no pause between words": """
pelvis hips
 spine chest
  head head
  {left}upperarm UpperArm
   {left}forearm LowerArm
    {left}hand Hand
 {left}thigh UpperLeg
  {left}calf LowerLeg
   {left}foot Foot
""",
    "sides behind": """
Armature|Hips hips
 Armature|Torso chest
  Armature|Head head
  Armature|Arm{Left} UpperArm
   Armature|ForeArm{Left} LowerArm
    Armature|Hand{Left} Hand
 Armature|UpLeg{Left} UpperLeg
  Armature|Leg{Left} LowerLeg
   Armature|Foot{Left} Foot
""",
    "short sides": """
jnt_hips hips
 jnt_chest chest
  jnt_neck neck
   jnt_head head
  {lf}_clav_jnt Shoulder
   {lf}_arm_jnt UpperArm
    {lf}_elbow_jnt LowerArm
     {lf}_wrist_jnt Hand
 {lf}_thigh_jnt UpperLeg
  {lf}_knee_jnt LowerLeg
   {lf}_ankle_jnt Foot
    {lf}_ball_jnt Toes
""",
    "H-Anim": """
humanoid_root -
 sacroiliac hips
  {l}_hip UpperLeg
   {l}_knee LowerLeg
    {l}_talocrural Foot
     {l}_metatarsophalangeal_2 Toes
 vl5 spine<
  vl1 spine>
   vt1 chest
    vc4 neck
     skullbase head
    {l}_sternoclavicular Shoulder<
     {l}_acromioclavicular Shoulder>
      {l}_shoulder UpperArm
       {l}_elbow LowerArm
        {l}_radiocarpal Hand
""",
    "OptiTrack": """
Skeleton1:Hip hips
 Skeleton1:Ab spine
  Skeleton1:Chest chest
   Skeleton1:Neck neck
    Skeleton1:Head head
   Skeleton1:{L}Shoulder Shoulder
    Skeleton1:{L}UArm UpperArm
     Skeleton1:{L}FArm LowerArm
      Skeleton1:{L}Hand Hand
 Skeleton1:{L}Thigh UpperLeg
  Skeleton1:{L}Shin LowerLeg
   Skeleton1:{L}Foot Foot
    Skeleton1:{L}Toe Toes
""",
    "Second Life": """
mPelvis hips
 mTorso spine
  mChest chest
   mNeck neck
    mHead head
     mSkull -
   mCollar{Left} Shoulder
    mShoulder{Left} UpperArm
     mElbow{Left} LowerArm
      mWrist{Left} Hand
 mHip{Left} UpperLeg
  mKnee{Left} LowerLeg
   mAnkle{Left} Foot<
    mFoot{Left} Foot>
     mToe{Left} Toes
""",
    "Skyrim": """
NPC Root [Root] -
 NPC COM [COM ] -
  NPC Pelvis [Pelv] hips
   NPC {L} Thigh [{L}Thg] UpperLeg
    NPC {L} Calf [{L}Clf] LowerLeg
     NPC {L} Foot [{L}ft ] Foot
      NPC {L} Toe0 [{L}Toe] Toes
  NPC Spine [Spn0] spine<
   NPC Spine1 [Spn1] spine>
    NPC Spine2 [Spn2] chest
     NPC Neck [Neck] neck
      NPC Head [Head] head
     NPC {L} Clavicle [{L}Clv] Shoulder
      NPC {L} UpperArm [{L}UAr] UpperArm
       NPC {L} UpperarmTwist1 [{L}Ut1] -
       NPC {L} Forearm [{L}LAr] LowerArm
        NPC {L} Hand [{L}Hnd] Hand
""",
    "Azure Kinect": """
PELVIS hips
 SPINE_NAVAL spine
  SPINE_CHEST chest
   NECK neck
    HEAD head
   CLAVICLE_{LEFT} Shoulder
    SHOULDER_{LEFT} UpperArm
     ELBOW_{LEFT} LowerArm
      WRIST_{LEFT} Hand<
       HAND_{LEFT} Hand>
        HANDTIP_{LEFT} -
       THUMB_{LEFT} ThumbMetacarpal
 HIP_{LEFT} UpperLeg
  KNEE_{LEFT} LowerLeg
   ANKLE_{LEFT} Foot
    FOOT_{LEFT} Toes
""",
    "a robot": """
pelvis hips
 {left}_hip_pitch_link UpperLeg<
  {left}_hip_roll_link -
   {left}_hip_yaw_link UpperLeg>
    {left}_knee_link LowerLeg
     {left}_ankle_pitch_link Foot<
      {left}_ankle_roll_link Foot>
 waist_yaw_link spine
  torso_link chest
   head_link head
   {left}_shoulder_pitch_link UpperArm<
    {left}_shoulder_roll_link -
     {left}_shoulder_yaw_link UpperArm>
      {left}_elbow_link LowerArm
       {left}_wrist_roll_link Hand<
        {left}_wrist_pitch_link Hand>
         {left}_rubber_hand -
""",
    "a word behind": """
hips_sj hips
 chest_sj chest
  head_sj head
  {L}_arm_1_sj UpperArm
   {L}_arm_2_sj LowerArm
    {L}_hand_sj Hand
 {L}_leg_1_sj UpperLeg
  {L}_leg_2_sj LowerLeg
   {L}_foot_sj Foot
""",
    "capitals": """
HIP hips
 WAIST spine
  CHEST chest
   NECK neck
    HEAD head
   {LEFT}_UPPER_ARM UpperArm
    {LEFT}_LOWER_ARM LowerArm
     {LEFT}_HAND Hand
 {LEFT}_UPPER_LEG UpperLeg
  {LEFT}_LOWER_LEG LowerLeg
   {LEFT}_FOOT Foot
""",
}


def lines_of(text):
    """Yield (depth, name, mark) of the lines of a rig."""
    for line in text.strip("\n").splitlines():
        name, mark = line.strip().rsplit(" ", 1)
        yield len(line) - len(line.lstrip()), name, mark


def rig(text, *, places=None, exchange=False):
    """Return the skeleton of a rig, its roles and its starts, by joint.

    `exchange` gives the names of the left to the right side of the body, and the other way round.
    """
    places = PLACES if places is None else places
    names, parents, offsets, at = [], [], [], []
    roles, starts = {}, {}
    path = {}  # (depth, side) -> joint
    for depth, name, mark in lines_of(text):
        marks = MARK.search(name)
        for side in ("left", "right") if marks else ("",):
            joint = len(names)
            above = [key for key in path if key[0] < depth and key[1] in (side, "")]
            parent = path[max(above)] if above else -1
            called = name
            if marks:
                word = marks[1] if side == "left" else SIDES[marks[1]]
                called = MARK.sub(word, name)
            ended = [key for key in path if key[0] >= depth and (not side or key[1] == side)]
            for key in ended:
                del path[key]
            path[depth, side] = joint
            bone = mark.rstrip("<>")
            mirrored = (side == "right") != exchange
            place = places.get(bone) if not mark.endswith(">") else None
            where = np.array(place or (at[parent] if parent >= 0 else (0.0, 1.0, 0.0)))
            if place and side and mirrored:
                where[0] *= -1.0
            if mark.endswith(">"):
                where[1] += 1e-3
            names.append(called)
            parents.append(parent)
            at.append(where)
            offsets.append(where - (at[parent] if parent >= 0 else 0.0))
            if bone != "-":
                role = side + bone if side else bone
                if not mark.endswith("<"):
                    roles[role] = called
                if not mark.endswith(">"):
                    starts[role] = called
    return Skeleton(tuple(names), parents, offsets), roles, starts

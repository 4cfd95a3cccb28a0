//! Words about a person's health: conditions, treatments, medicines, examinations.
//!
//! Words that are as common elsewhere (`stroke`, `cold`, `patient`, `virus`, `condition`, `blind`) are left out or come
//! with a neighbor. Without accents, in lower case, separated by commas.

/// Conditions and what people suffer from.
const CONDITIONS: &str = "\
     acne, addiction, adhd, alcoholism, allergic to, allergies, allergy, als disease, alzheimer, alzheimers, \
     amputation, amputee, anaemia, anaphylaxis, anemia, aneurysm, angina, anorexia, anxiety disorder, aphasia, \
     appendicitis, arrhythmia, arthritis, asperger, aspergers, asthma, asthmatic, atrial fibrillation, autism, \
     autistic, autoimmune, bipolar disorder, brain tumor, brain tumour, bronchitis, bulimia, cancer, cancers, \
     carcinoma, cardiac arrest, cardiomyopathy, cardiovascular disease, cataract, cataracts, celiac, \
     cerebral palsy, chest pain, chickenpox, chlamydia, cholera, chronic fatigue, chronic pain, chronically ill, \
     cirrhosis, coeliac, colitis, concussion, conjunctivitis, copd, coronary artery, covid, crohn, crohns, \
     cystic fibrosis, cystitis, deaf, deafness, deep vein thrombosis, dementia, dengue, depressive, \
     clinical depression, suffer from depression, suffering from depression, diagnosed with, major depression, \
     postpartum depression, severe depression, dermatitis, diabetes, diabetic, diabetics, diphtheria, \
     down syndrome, dyslexia, eating disorder, eczema, embolism, emphysema, endometriosis, epilepsy, epileptic, \
     epileptic seizure, epileptic seizures, erectile dysfunction, fibromyalgia, fibrosis, gallstones, gastritis, \
     gastroenteritis, generalized anxiety, glaucoma, gonorrhea, gout, haemophilia, hay fever, hearing loss, \
     heart attack, heart condition, heart disease, heart failure, heart murmur, hemophilia, hemorrhage, \
     hepatitis, hernia, herpes, high blood pressure, hiv, hypercholesterolemia, hyperlipidemia, hypertension, \
     hypertensive, hyperthyroidism, hypoglycemia, hypotension, hypothyroidism, immunocompromised, \
     immunodeficiency, infertility, influenza, insomnia, irritable bowel, ischemic stroke, had a stroke, \
     jaundice, kidney disease, kidney failure, kidney stones, lactose intolerance, lactose intolerant, \
     leukaemia, leukemia, liver disease, lupus, lyme disease, lymphoma, macular degeneration, malaria, measles, \
     melanoma, meningitis, menopause, mental illness, mental health condition, migraine, migraines, miscarriage, \
     mononucleosis, multiple sclerosis, muscular dystrophy, myocardial infarction, narcolepsy, nephropathy, \
     neuropathy, nut allergy, obese, obesity, obsessive compulsive, opioid use, osteoarthritis, osteoporosis, \
     overdose, ovarian cyst, palliative, pancreatitis, panic attack, panic attacks, panic disorder, paraplegic, \
     parkinson, parkinsons, peanut allergy, peptic ulcer, personality disorder, pneumonia, polio, polycystic, \
     preeclampsia, pregnancy, pregnant, prostatitis, psoriasis, psychosis, psychotic, ptsd, pulmonary embolism, \
     renal failure, rheumatoid, sarcoidosis, schizophrenia, schizophrenic, sciatica, scoliosis, \
     seizure disorder, self harm, sepsis, shingles, sickle cell, sinusitis, sleep apnea, slipped disc, \
     stillbirth, substance abuse, suicidal, suicide attempt, syphilis, tachycardia, thalassemia, thrombosis, \
     thyroid, tinnitus, tonsillitis, tuberculosis, tumor, tumors, tumour, tumours, type 1 diabetes, \
     type 2 diabetes, ulcerative, urinary tract infection, vertigo, visually impaired, vitiligo, wheelchair, \
     whooping cough";

/// Examinations, treatments and measures.
const TREATMENTS: &str = "\
     abortion, angioplasty, antidepressant, antidepressants, antipsychotic, biopsy, blood glucose, \
     blood pressure medication, blood sugar, blood test, blood tests, blood transfusion, blood type, \
     bone marrow, bypass surgery, caesarean, chemo, chemotherapy, cholesterol, colonoscopy, colostomy, \
     creatinine, dialysis, echocardiogram, electrocardiogram, endoscopy, glucose level, haemoglobin, hba1c, \
     heart surgery, hemoglobin, hip replacement, hospitalized, hysterectomy, immunotherapy, inhaler, insulin, \
     vitro fertilization, ivf, kidney transplant, knee replacement, knee surgery, lab results, liver transplant, \
     lumpectomy, mammogram, mastectomy, medical condition, medical conditions, medical history, \
     medically necessary, medication, medications, mri scan, opioid, opioids, pacemaker, pap smear, \
     platelet count, prenatal, prescription, prescriptions, psychiatric, psychiatrist, was prescribed, \
     prescribed me, psychotherapy, radiation therapy, radiotherapy, serum potassium, sonogram, spinal surgery, \
     statins, stem cell, tracheostomy, urinalysis, vaccinated, vaccination, vasectomy, white blood cell";

/// Medicines.
const MEDICINES: &str = "\
     acetaminophen, adalimumab, adderall, albuterol, alprazolam, amitriptyline, amlodipine, amoxicillin, \
     apixaban, aripiprazole, atenolol, atorvastatin, azithromycin, bisoprolol, budesonide, buprenorphine, \
     bupropion, carbamazepine, carvedilol, celecoxib, cephalexin, cetirizine, ciprofloxacin, cisplatin, \
     citalopram, clonazepam, clopidogrel, clozapine, codeine, cyclobenzaprine, dexamethasone, diazepam, \
     diclofenac, digoxin, donepezil, doxorubicin, doxycycline, duloxetine, enalapril, escitalopram, \
     esomeprazole, estradiol, etanercept, famotidine, fentanyl, finasteride, fluconazole, fluoxetine, \
     fluticasone, furosemide, gabapentin, glimepiride, glipizide, haloperidol, heparin, humira, \
     hydrochlorothiazide, hydrocodone, hydrocortisone, hydroxychloroquine, ibuprofen, infliximab, ketamine, \
     lamotrigine, lansoprazole, letrozole, levetiracetam, levothyroxine, lipitor, liraglutide, lisinopril, \
     loratadine, lorazepam, losartan, meloxicam, memantine, metformin, methadone, methotrexate, methylphenidate, \
     metoprolol, metronidazole, mirtazapine, montelukast, morphine, mounjaro, naloxone, naltrexone, naproxen, \
     nifedipine, nitroglycerin, olanzapine, omeprazole, ondansetron, oxycodone, oxycontin, ozempic, \
     pantoprazole, paracetamol, paroxetine, penicillin, pravastatin, prednisolone, prednisone, pregabalin, \
     propranolol, prozac, quetiapine, ramipril, ranitidine, risperidone, ritalin, rituximab, rivaroxaban, \
     rosuvastatin, salbutamol, semaglutide, sertraline, sildenafil, simvastatin, sitagliptin, spironolactone, \
     sumatriptan, tadalafil, tamoxifen, tamsulosin, topiramate, tramadol, trastuzumab, trazodone, valacyclovir, \
     valium, valproate, valsartan, venlafaxine, verapamil, viagra, vicodin, warfarin, wegovy, xanax, zoloft, \
     zolpidem";

/// Words of all three lists in German, French, Spanish, Italian, Dutch, Portuguese and Polish.
const OTHER_LANGUAGES: &str = "\
     bluthochdruck, blutzucker, brustkrebs, darmkrebs, lungenkrebs, hautkrebs, chemotherapie, zuckerkrank, \
     diabetiker, diabetikerin, depressionen, epilepsie, fehlgeburt, herzinfarkt, herzinsuffizienz, \
     krebserkrankung, lungenentzundung, magersucht, schlaganfall, schwanger, schwangerschaft, schizophrenie, \
     behinderung, schwerbehindert, psychotherapie, medikament, medikamente, verschriebenes rezept, leukamie, \
     diabete, diabetique, cancer du sein, asthme, asthmatique, enceinte de, femme enceinte, grossesse, \
     fausse couche, hypertendu, crise cardiaque, infarctus, migraines, avortement, schizophrene, sclerose, \
     seropositif, seropositive, tuberculose, ordonnance medicale, handicape, allergique, medicaments, \
     embarazada, embarazo, diabetico, diabetica, hipertension, depresion, asmatico, asma, cancer de mama, \
     infarto, migrana, epilepsia, tuberculosis, quimioterapia, insulina, alergia, alergico, alergica, \
     esquizofrenia, aborto, ictus, embolia, vih, medicamento, medicamentos, receta medica, gravidanza, incinta, \
     ipertensione, tumore, cancro, asmatica, chemioterapia, diabetici, emicrania, depressione, allergia, \
     allergico, allergica, cuore infarto, ricetta medica, farmaci, zwanger, zwangerschap, kanker, borstkanker, \
     longkanker, suikerziekte, hoge bloeddruk, hartaanval, hartinfarct, beroerte, miskraam, medicijnen, \
     longontsteking, gravidez, gravida, hipertensao, depressao, ciaza, cukrzyca, nadcisnienie, nowotwor, \
     padaczka, astma, depresja, gruzlica";

/// Short forms that mean something else unless they are in capitals.
const ACRONYMS: &str = "aids, sars, mrsa, uti, gerd, ibs, ocd, ecg, ekg, mri";

/// Returns all words of the lists but the short forms.
pub(super) fn terms() -> impl Iterator<Item = &'static str> {
    [CONDITIONS, TREATMENTS, MEDICINES, OTHER_LANGUAGES].into_iter().flat_map(|terms| terms.split(", "))
}

/// Returns the short forms.
pub(super) fn acronyms() -> impl Iterator<Item = &'static str> {
    ACRONYMS.split(", ")
}

#[cfg(test)]
mod tests {
    use super::super::lexicon::Lexicon;

    #[test]
    fn health_terms_fit_the_lexicon() {
        // Three letters at least; what has fewer could never be seen.
        let lost: Vec<&str> = super::terms().filter(|term| !Lexicon::can_hold(term)).collect();
        assert!(lost.is_empty(), "{lost:?}");
        assert!(super::terms().all(|term| term == term.to_lowercase()));
        assert!(super::terms().count() > 400);
    }
}

"""Sentences with a gap `{}` for personal data, by language and category, and sentences that hold none.

Every second sentence, counted from the first, belongs to the half that the recognisers were tuned on. The others are
reported. The sentences were written before the recognisers were run on them, by the author of the recognisers, who
therefore knew the reported half.
"""

from __future__ import annotations

from typing import Dict, List

SENTENCES: Dict[str, Dict[str, List[str]]] = {
    "en": {
        "email": [
            "Could you forward the contract to {} before noon?",
            "The invoice bounced because {} does not exist any more.",
            "{} asked us to cancel the subscription.",
            "Reply-To: {}\nSubject: your parcel",
        ],
        "phone": [
            "You can reach me on {} after six.",
            "I have moved; my new number is {} and the old one is gone.",
            "Please ring {} if nobody opens the door.",
            "Hi, it is about the boiler. Call back: {}. Thanks!",
        ],
        "payment": [
            "Please charge {} for the second night as well.",
            "I paid with {} but the refund never arrived.",
            "The guest left {} at the desk by mistake.",
            "Use {}, it expires next spring.",
        ],
        "iban": [
            "Send the deposit to {} by Friday.",
            "We could not debit {} on the first of the month.",
            "My sister's account is {}, she will confirm it.",
            "Payee details: {} / rent May",
        ],
        "ip_address": [
            "The login came from {} at night.",
            "Blocked {} after forty failed attempts.",
            "Her router shows {} as its outside address.",
            "client {} requested /checkout twice",
        ],
        "dob": [
            "The patient was born on {} and has no allergies.",
            "Date of birth {}, second child.",
            "For the visa I need your birthday: is it {}?",
            "DOB: {}\nHeight: 172 cm",
        ],
        "person": [
            "My name is {} and I would like to complain.",
            "Dear {},\nthank you for your letter.",
            "Yesterday {} returned the keys to the office.",
            "Kind regards,\n{}",
        ],
        "us_id": [
            "Her social security number is {}, she says.",
            "For the tax form: {} is the SSN of my husband.",
            "He wrote {} into the field for the taxpayer.",
            "SSN on file {}; please correct it.",
        ],
        "none": [
            "The parcel weighs 2.5 kg and should arrive on 14 March between 10:00 and 12:00.",
            "Our release 4.12.7 fixes 38 bugs and needs 512 MB of memory.",
            "Room 214 costs 129.90 a night, breakfast included.",
            "Please compare page 47 of the manual with drawing 88-1204-B.",
            "In 2019 we sold 1,204,331 units, 12 % more than in 2018.",
            "The build took 00:14:37 and produced artefact 7f3c9a12.",
            "Turn left after 300 m; the museum opens at 9.30.",
            "Batch 20231108-004 passed with a score of 98.6 out of 100.",
        ],
    },
    "de": {
        "email": [
            "Bitte schicken Sie den Vertrag vor Mittag an {}.",
            "Die Rechnung kam zurück, weil es {} nicht mehr gibt.",
            "{} möchte das Abonnement kündigen.",
            "Antwort an: {}\nBetreff: Ihr Paket",
        ],
        "phone": [
            "Nach achtzehn Uhr bin ich unter {} zu erreichen.",
            "Ich bin umgezogen, meine neue Nummer lautet {}, die alte ist abgeschaltet.",
            "Bitte rufen Sie {} an, wenn niemand öffnet.",
            "Hallo, es geht um die Heizung. Rückruf: {}. Danke!",
        ],
        "payment": [
            "Bitte belasten Sie {} auch für die zweite Nacht.",
            "Ich habe mit {} bezahlt, die Erstattung fehlt noch.",
            "Der Gast hat {} versehentlich am Empfang notiert.",
            "Nehmen Sie {}, sie läuft im Frühjahr ab.",
        ],
        "iban": [
            "Überweisen Sie die Kaution bis Freitag auf {}.",
            "Wir konnten von {} zum Monatsersten nicht abbuchen.",
            "Das Konto meiner Schwester ist {}, sie bestätigt es.",
            "Empfänger: {} / Miete Mai",
        ],
        "ip_address": [
            "Die Anmeldung kam nachts von {}.",
            "{} wurde nach vierzig Versuchen gesperrt.",
            "Ihr Router zeigt nach außen {}.",
            "Client {} hat die Kasse zweimal aufgerufen",
        ],
        "dob": [
            "Der Patient ist am {} geboren und hat keine Allergien.",
            "Geburtsdatum {}, zweites Kind.",
            "Für das Visum brauche ich Ihren Geburtstag: ist es der {}?",
            "geb. {}\nGröße: 172 cm",
        ],
        "person": [
            "Mein Name ist {} und ich möchte mich beschweren.",
            "Sehr geehrte Frau {},\nvielen Dank für Ihren Brief.",
            "Gestern hat {} die Schlüssel im Büro abgegeben.",
            "Mit freundlichen Grüßen\n{}",
        ],
        "none": [
            "Das Paket wiegt 2,5 kg und kommt am 14. März zwischen 10:00 und 12:00 Uhr.",
            "Version 4.12.7 behebt 38 Fehler und braucht 512 MB Speicher.",
            "Zimmer 214 kostet 129,90 Euro die Nacht mit Frühstück.",
            "Vergleichen Sie Seite 47 des Handbuchs mit Zeichnung 88-1204-B.",
            "2019 haben wir 1.204.331 Stück verkauft, 12 % mehr als 2018.",
            "Der Lauf dauerte 00:14:37 und ergab das Artefakt 7f3c9a12.",
        ],
    },
    "fr": {
        "email": [
            "Pouvez-vous envoyer le contrat à {} avant midi ?",
            "La facture est revenue car {} n'existe plus.",
            "{} souhaite résilier son abonnement.",
            "Répondre à : {}\nObjet : votre colis",
        ],
        "phone": [
            "Je suis joignable au {} après dix-huit heures.",
            "J'ai déménagé, mon nouveau numéro est le {}, l'ancien est coupé.",
            "Merci d'appeler le {} si personne n'ouvre.",
            "Bonjour, c'est pour la chaudière. Rappelez-moi : {}. Merci !",
        ],
        "payment": [
            "Veuillez débiter {} pour la deuxième nuit aussi.",
            "J'ai payé avec {} et le remboursement n'arrive pas.",
            "Le client a laissé {} à la réception par erreur.",
            "Prenez {}, elle expire au printemps.",
        ],
        "iban": [
            "Versez la caution sur {} avant vendredi.",
            "Nous n'avons pas pu prélever {} le premier du mois.",
            "Le compte de ma sœur est {}, elle le confirmera.",
            "Bénéficiaire : {} / loyer de mai",
        ],
        "ip_address": [
            "La connexion venait de {} pendant la nuit.",
            "{} a été bloquée après quarante essais.",
            "Son routeur affiche {} vers l'extérieur.",
            "le client {} a demandé la caisse deux fois",
        ],
        "dob": [
            "Le patient est né le {} et n'a pas d'allergies.",
            "Date de naissance {}, deuxième enfant.",
            "Pour le visa il me faut votre anniversaire : est-ce le {} ?",
            "Née le {}\nTaille : 172 cm",
        ],
        "person": [
            "Je m'appelle {} et je voudrais me plaindre.",
            "Chère Madame {},\nmerci pour votre lettre.",
            "Hier {} a rendu les clés au bureau.",
            "Cordialement,\n{}",
        ],
        "none": [
            "Le colis pèse 2,5 kg et arrive le 14 mars entre 10 h et 12 h.",
            "La version 4.12.7 corrige 38 erreurs et demande 512 Mo de mémoire.",
            "La chambre 214 coûte 129,90 euros la nuit, petit déjeuner compris.",
            "Comparez la page 47 du manuel avec le dessin 88-1204-B.",
            "En 2019 nous avons vendu 1 204 331 pièces, soit 12 % de plus.",
            "Le calcul a duré 00:14:37 et a produit l'artefact 7f3c9a12.",
        ],
    },
    "es": {
        "email": [
            "¿Puede enviar el contrato a {} antes del mediodía?",
            "La factura volvió porque {} ya no existe.",
            "{} quiere cancelar la suscripción.",
            "Responder a: {}\nAsunto: su paquete",
        ],
        "phone": [
            "Estoy disponible en el {} después de las seis.",
            "Me he mudado, mi nuevo número es el {} y el viejo ya no sirve.",
            "Llame por favor al {} si nadie abre.",
            "Hola, es por la caldera. Devuélvame la llamada: {}. ¡Gracias!",
        ],
        "payment": [
            "Cargue también la segunda noche en {}.",
            "Pagué con {} y el reembolso no llega.",
            "El huésped dejó {} en la recepción por error.",
            "Use {}, caduca en primavera.",
        ],
        "iban": [
            "Envíe la fianza a {} antes del viernes.",
            "No pudimos cobrar de {} el día primero.",
            "La cuenta de mi hermana es {}, ella lo confirmará.",
            "Beneficiario: {} / alquiler mayo",
        ],
        "ip_address": [
            "El acceso vino de {} por la noche.",
            "{} fue bloqueada después de cuarenta intentos.",
            "Su router muestra {} hacia fuera.",
            "el cliente {} pidió la caja dos veces",
        ],
        "dob": [
            "El paciente nació el {} y no tiene alergias.",
            "Fecha de nacimiento {}, segundo hijo.",
            "Para el visado necesito su cumpleaños: ¿es el {}?",
            "Nacida el {}\nEstatura: 172 cm",
        ],
        "person": [
            "Me llamo {} y quiero presentar una queja.",
            "Estimada señora {}:\ngracias por su carta.",
            "Ayer {} devolvió las llaves en la oficina.",
            "Un saludo,\n{}",
        ],
        "none": [
            "El paquete pesa 2,5 kg y llega el 14 de marzo entre las 10:00 y las 12:00.",
            "La versión 4.12.7 corrige 38 errores y necesita 512 MB de memoria.",
            "La habitación 214 cuesta 129,90 euros con desayuno.",
            "Compare la página 47 del manual con el plano 88-1204-B.",
            "En 2019 vendimos 1.204.331 unidades, un 12 % más.",
            "El proceso duró 00:14:37 y produjo el artefacto 7f3c9a12.",
        ],
    },
    "it": {
        "email": [
            "Può inviare il contratto a {} prima di mezzogiorno?",
            "La fattura è tornata perché {} non esiste più.",
            "{} vuole annullare l'abbonamento.",
            "Rispondi a: {}\nOggetto: il suo pacco",
        ],
        "phone": [
            "Sono raggiungibile al {} dopo le diciotto.",
            "Ho traslocato, il mio nuovo numero è {} e quello vecchio è spento.",
            "Chiami il {} se nessuno apre.",
            "Salve, è per la caldaia. Mi richiami: {}. Grazie!",
        ],
        "payment": [
            "Addebiti anche la seconda notte su {}.",
            "Ho pagato con {} ma il rimborso non arriva.",
            "L'ospite ha lasciato {} alla reception per errore.",
            "Usi {}, scade in primavera.",
        ],
        "iban": [
            "Versi la cauzione su {} entro venerdì.",
            "Non abbiamo potuto addebitare {} il primo del mese.",
            "Il conto di mia sorella è {}, lo confermerà.",
            "Beneficiario: {} / affitto maggio",
        ],
        "ip_address": [
            "L'accesso veniva da {} di notte.",
            "{} è stato bloccato dopo quaranta tentativi.",
            "Il suo router mostra {} verso l'esterno.",
            "il client {} ha chiesto la cassa due volte",
        ],
        "dob": [
            "Il paziente è nato il {} e non ha allergie.",
            "Data di nascita {}, secondo figlio.",
            "Per il visto mi serve il suo compleanno: è il {}?",
            "Nata il {}\nAltezza: 172 cm",
        ],
        "person": [
            "Mi chiamo {} e vorrei fare un reclamo.",
            "Gentile signora {},\ngrazie per la sua lettera.",
            "Ieri {} ha riportato le chiavi in ufficio.",
            "Cordiali saluti,\n{}",
        ],
        "none": [
            "Il pacco pesa 2,5 kg e arriva il 14 marzo tra le 10:00 e le 12:00.",
            "La versione 4.12.7 corregge 38 errori e richiede 512 MB di memoria.",
            "La camera 214 costa 129,90 euro a notte.",
            "Confronti pagina 47 del manuale con il disegno 88-1204-B.",
            "Nel 2019 abbiamo venduto 1.204.331 pezzi, il 12 % in più.",
            "Il calcolo è durato 00:14:37 e ha prodotto l'artefatto 7f3c9a12.",
        ],
    },
    "nl": {
        "email": [
            "Kunt u het contract voor de middag naar {} sturen?",
            "De factuur kwam terug omdat {} niet meer bestaat.",
            "{} wil het abonnement opzeggen.",
            "Antwoord aan: {}\nOnderwerp: uw pakket",
        ],
        "phone": [
            "Na zes uur ben ik bereikbaar op {}.",
            "Ik ben verhuisd, mijn nieuwe nummer is {} en het oude is weg.",
            "Bel alstublieft {} als niemand opendoet.",
            "Hallo, het gaat om de ketel. Bel terug: {}. Bedankt!",
        ],
        "payment": [
            "Wilt u ook de tweede nacht van {} afschrijven?",
            "Ik heb met {} betaald maar krijg niets terug.",
            "De gast liet {} per ongeluk bij de balie achter.",
            "Gebruik {}, die verloopt in het voorjaar.",
        ],
        "iban": [
            "Maak de borg voor vrijdag over naar {}.",
            "We konden op de eerste niet van {} afschrijven.",
            "De rekening van mijn zus is {}, zij bevestigt het.",
            "Begunstigde: {} / huur mei",
        ],
        "ip_address": [
            "De aanmelding kwam 's nachts van {}.",
            "{} is na veertig pogingen geblokkeerd.",
            "Haar router toont {} naar buiten.",
            "client {} vroeg de kassa twee keer op",
        ],
        "dob": [
            "De patiënt is geboren op {} en heeft geen allergieën.",
            "Geboortedatum {}, tweede kind.",
            "Voor het visum heb ik uw verjaardag nodig: is het {}?",
            "geb. {}\nLengte: 172 cm",
        ],
        "person": [
            "Mijn naam is {} en ik wil een klacht indienen.",
            "Geachte mevrouw {},\nbedankt voor uw brief.",
            "Gisteren heeft {} de sleutels op kantoor ingeleverd.",
            "Met vriendelijke groet,\n{}",
        ],
        "none": [
            "Het pakket weegt 2,5 kg en komt op 14 maart tussen 10:00 en 12:00 uur.",
            "Versie 4.12.7 herstelt 38 fouten en heeft 512 MB geheugen nodig.",
            "Kamer 214 kost 129,90 euro per nacht.",
            "Vergelijk pagina 47 van de handleiding met tekening 88-1204-B.",
            "In 2019 verkochten we 1.204.331 stuks, 12 % meer.",
            "De run duurde 00:14:37 en leverde artefact 7f3c9a12.",
        ],
    },
}
